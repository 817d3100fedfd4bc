// bench/sections/options.hpp: the command line of `holdfast bench sections`, checked.
#pragma once

#include "base/bits.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

// Another library's names.
// NOLINTBEGIN(readability-identifier-naming)
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace hf::bench {

/// As the paper's figure 4 has them, epoch mode, and mmap() with msync().
enum class section_row : u8 { original, graph, graph_unflushed, graph_elided, hooks, pages, msync };
[[nodiscard]] const std::vector<std::string>& section_row_names();
/// `dedup` is there if its libraries were found.
[[nodiscard]] const std::vector<std::string>& section_work_names();

struct sections_bench_options {
    std::vector<std::string> works;
    std::vector<section_row> rows;
    std::vector<unsigned> threads;
    u64 operations = 200'000;  ///< all threads together
    u64 megabytes = 64;        ///< of input for dedup
    unsigned repetitions = 5;
    std::optional<std::string> directory;
    std::string disk = ".";        ///< directory of the row msync
    u64 synced_operations = 1000;  ///< at most that many in the row msync; megabytes: one
};

class sections_bench_parser {
   public:
    sections_bench_parser();
    ~sections_bench_parser();
    sections_bench_parser(const sections_bench_parser&) = delete;
    sections_bench_parser& operator=(const sections_bench_parser&) = delete;

    /// Adds the subcommand, which this must outlive.
    [[nodiscard]] CLI::App* add_to(CLI::App& bench);
    /// After parsing. A value that makes no sense throws as option_values.hpp does.
    [[nodiscard]] sections_bench_options translate() const;
    [[nodiscard]] std::optional<std::string> json() const;

   private:
    struct raw;
    std::unique_ptr<raw> raw_;
};

}  // namespace hf::bench
