// bench/shadow/options.hpp: the command line of `holdfast bench shadow`, checked.
#pragma once

#include "bench/shadow/structure.hpp"

#include <filesystem>
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

/// How keys are drawn.
struct key_spread {
    std::string name;  ///< as given: "uniform", "zipf:0.99", "zipf:1.5:ordered"
    double theta = 0;  ///< 0: uniform
    bool is_scrambled = true;
};

struct shadow_bench_options {
    std::vector<shadow_work> works;
    std::vector<key_spread> spreads;
    std::vector<u64> at_once;           ///< operations a transaction
    std::vector<std::string> machines;  ///< of shadow_machines()
    std::vector<unsigned> cores;        ///< several: `osp` with transactions at the same time
    u64 bytes = u64{1} << 30;           ///< of each structure
    unsigned node_bytes = 512;          ///< of the B-tree
    u64 transactions = 100'000;         ///< that are counted
    u64 warm_up = 100'000;              ///< before them
    unsigned stack_pages = 0;           ///< regular stores an operation
    u64 seed = 1;
    bool measures_speed = false;
    unsigned aborts_in_1000 = 0;                  ///< of synthetic transactions; 0: none are run
    std::optional<std::filesystem::path> record;  ///< a trace to write
    std::optional<std::filesystem::path> replay;  ///< a trace to simulate, and nothing else
};

class shadow_bench_parser {
   public:
    shadow_bench_parser();
    ~shadow_bench_parser();
    shadow_bench_parser(const shadow_bench_parser&) = delete;
    shadow_bench_parser& operator=(const shadow_bench_parser&) = delete;

    /// Adds the subcommand, which this must outlive.
    [[nodiscard]] CLI::App* add_to(CLI::App& bench);
    /// After parsing. A value that makes no sense throws as option_values.hpp does.
    [[nodiscard]] shadow_bench_options translate() const;
    [[nodiscard]] std::optional<std::string> json() const;

   private:
    struct raw;
    std::unique_ptr<raw> raw_;
};

}  // namespace hf::bench
