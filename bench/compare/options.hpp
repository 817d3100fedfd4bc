// bench/compare/options.hpp: the command line of `holdfast bench compare`, checked.
#pragma once

#include "bench/operations.hpp"
#include "bench/peers/contender.hpp"

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

struct compare_options {
    std::vector<std::string> peers = {"rocksdb", "lmdb"};
    std::vector<workload> workloads = {workload::a, workload::b};
    std::vector<distribution> distributions = {distribution::zipfian};
    std::vector<acknowledge> acks = {acknowledge::behind, acknowledge::durable};
    std::chrono::microseconds window = std::chrono::milliseconds(64);
    u64 records = 10'000'000;
    u32 value_size = 100;
    unsigned threads = 1;   ///< number of clients if writes are acknowledged at once
    unsigned clients = 64;  ///< number of clients if each write waits
    std::chrono::seconds round{10};
    u64 operations = 0;  ///< of each client and round; 0: as many as the round's time allows
    unsigned repetitions = 3;
    u64 seed = 1;
    std::filesystem::path directory = ".";
    bool check = false;
    /// Not an option: the journal in tmpfs, for tests on machines without a disk.
    bool force_medium = false;
};

[[nodiscard]] std::string_view to_string(acknowledge a) noexcept;

class compare_parser {
   public:
    compare_parser();
    ~compare_parser();
    compare_parser(const compare_parser&) = delete;
    compare_parser& operator=(const compare_parser&) = delete;

    /// Adds the subcommand; this object must outlive it.
    [[nodiscard]] CLI::App* add_to(CLI::App& bench);
    /// After parsing. An invalid value throws as in option_values.hpp.
    [[nodiscard]] compare_options translate() const;
    [[nodiscard]] std::optional<std::string> json() const;

   private:
    struct raw;
    std::unique_ptr<raw> raw_;
};

}  // namespace hf::bench
