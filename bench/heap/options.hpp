// bench/heap/options.hpp: the command line of `holdfast bench heap`, checked.
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

/// Parts of the measurement.
enum class heap_part : u8 { small, swaps, maps, zipfian, threads, chase, opening, disk, values };
[[nodiscard]] const std::vector<std::string>& heap_part_names();

struct heap_bench_options {
    std::vector<std::string> engines;  ///< of Holdfast's heaps; the first is compared with all
    std::vector<std::string> peers;    ///< of object_rival_names()
    std::vector<heap_part> parts;
    u64 elements = 1'000'000;        ///< of a map
    u64 array_bytes = u64{1} << 30;  ///< of the array whose elements are swapped
    std::chrono::milliseconds round{200};
    unsigned repetitions = 5;
    u64 commits = 100'000;  ///< in the log of a heap that is opened
    u64 seed = 1;
    std::filesystem::path directory = "/dev/shm";
    std::filesystem::path disk = ".";
};

class heap_bench_parser {
   public:
    heap_bench_parser();
    ~heap_bench_parser();
    heap_bench_parser(const heap_bench_parser&) = delete;
    heap_bench_parser& operator=(const heap_bench_parser&) = delete;

    /// Adds the subcommand; this object must outlive it.
    [[nodiscard]] CLI::App* add_to(CLI::App& bench);
    /// After parsing. An invalid value throws as in option_values.hpp.
    [[nodiscard]] heap_bench_options translate() const;
    [[nodiscard]] std::optional<std::string> json() const;

   private:
    struct raw;
    std::unique_ptr<raw> raw_;
};

}  // namespace hf::bench
