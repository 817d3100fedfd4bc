// bench/server/options.hpp: the command line of `holdfast bench server`, checked.
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

/// The clients' requests.
enum class errand : u8 {
    get,     ///< of an existing record
    set,     ///< likewise
    change,  ///< new records are set, then deleted
    mix,     ///< nine gets, one set
};
[[nodiscard]] std::string_view to_string(errand e) noexcept;

struct server_bench_options {
    std::string program;  ///< path of holdfast or memcached; empty: this program
    std::string peer = "memcached";
    std::vector<errand> errands = {errand::get, errand::set, errand::change, errand::mix};
    std::vector<unsigned> depths = {1, 16};      ///< requests sent at once
    std::vector<unsigned> connections = {2, 8};  ///< of all clients
    unsigned threads = 2;                        ///< of each server
    /// threads, each with the same number of connections
    unsigned clients = 2;
    u64 records = 1'000'000;
    u32 least_value = 8;
    u32 most_value = 100;
    std::chrono::milliseconds round{200};
    u64 operations = 0;  ///< of each connection and round; 0: as many as the round's time allows
    unsigned repetitions = 5;
    u64 seed = 1;
    std::filesystem::path directory = "/dev/shm";
};

class server_bench_parser {
   public:
    server_bench_parser();
    ~server_bench_parser();
    server_bench_parser(const server_bench_parser&) = delete;
    server_bench_parser& operator=(const server_bench_parser&) = delete;

    /// Adds the subcommand; this object must outlive it.
    [[nodiscard]] CLI::App* add_to(CLI::App& bench);
    /// After parsing. An invalid value throws as in option_values.hpp.
    [[nodiscard]] server_bench_options translate() const;
    [[nodiscard]] std::optional<std::string> json() const;

   private:
    struct raw;
    std::unique_ptr<raw> raw_;
};

}  // namespace hf::bench
