// bench/layers/options.hpp: the command line of `holdfast bench layers`, checked.
#pragma once

#include "base/bits.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Names of another library.
// NOLINTBEGIN(readability-identifier-naming)
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace hf::bench {

/// Tables and figures of the paper: table 1, figures 4 to 8.
enum class layer_part : u8 { table, sizes, works, safety, systems, cache };
[[nodiscard]] const std::vector<std::string>& layer_part_names();

struct layer_bench_options {
    std::vector<layer_part> parts;
    std::vector<std::string> peers;  ///< of object_rival_names()
    u64 elements = 1'000'000;        ///< of a map or an array
    u64 items = 100'000;             ///< of the cache
    u64 vertices = 10'000;           ///< of SixDegs
    u64 graph = 1'024;               ///< vertices of SSCA's graph
    unsigned threads = 0;            ///< the maximum; 0: the number of cores, up to 8
    bool is_zipfian = false;
    std::chrono::milliseconds round{100};
    unsigned repetitions = 5;
    u64 rounds = 100'000;  ///< operations for the table
    u64 seed = 1;
    std::filesystem::path directory = "/dev/shm";
    std::filesystem::path disk = ".";
};

class layer_bench_parser {
   public:
    layer_bench_parser();
    ~layer_bench_parser();
    layer_bench_parser(const layer_bench_parser&) = delete;
    layer_bench_parser& operator=(const layer_bench_parser&) = delete;

    /// Adds the subcommand; this object must outlive it.
    [[nodiscard]] CLI::App* add_to(CLI::App& bench);
    /// After parsing. An invalid value throws as in option_values.hpp.
    [[nodiscard]] layer_bench_options translate() const;
    [[nodiscard]] std::optional<std::string> json() const;

   private:
    struct raw;
    std::unique_ptr<raw> raw_;
};

}  // namespace hf::bench
