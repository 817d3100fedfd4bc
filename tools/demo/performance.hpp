// tools/demo/performance.hpp: the demo itself: load, kill the server, restart, compare; three
// times, then an orderly shutdown.
#pragma once

#include "ledger.hpp"
#include "package_index.hpp"
#include "server.hpp"
#include "show.hpp"

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace hf::demo {

struct demo_options {
    std::string input;  ///< a file in control format; empty: this machine's index
    std::string epoch = "64ms";
    std::size_t records = 0;  ///< use only the first `records` of the input; 0: all
    unsigned connections = 3;
    unsigned kills = 3;
    double seconds = 30;  ///< time for loading all records; 0: as fast as possible
    std::uint64_t seed = 0;
};

class performance {
   public:
    performance(demo_options options, server& on);

    /// True if no durable record was lost and none was altered.
    [[nodiscard]] bool run();
    /// Runs once on a server that loses unsynced data and never syncs. True if durable records were
    /// lost, as expected.
    [[nodiscard]] bool run_control();

   private:
    struct restart {
        std::string how;
        std::uint64_t acknowledged = 0;  ///< total before the restart
        comparison seen;
        std::uint64_t recovery_ns = 0;  ///< as reported by the server
        std::uint64_t outside_ns = 0;   ///< from exec to the first answer
        std::uint64_t log_entries = 0;
        bool recovered = false;
    };

    [[nodiscard]] bool perform();
    [[nodiscard]] bool read_input();
    void introduce() const;
    /// The number of acknowledged records.
    [[nodiscard]] std::optional<std::uint64_t> load_until_killed(unsigned number);
    [[nodiscard]] bool load_and_kill(unsigned number);
    [[nodiscard]] bool load_the_rest();
    [[nodiscard]] bool close_and_reopen();
    [[nodiscard]] bool check_region();
    /// Starts the server and compares all records.
    [[nodiscard]] bool resume(restart& r);
    [[nodiscard]] std::uint64_t rate() const;
    void watch(const loader& load, std::size_t until);
    void explain() const;
    bool judge(const comparison& c);
    [[nodiscard]] bool give_up(const std::string& why);
    void sum_up() const;

    demo_options options_;
    show show_;
    package_index index_;
    std::optional<ledger> ledger_;
    server& server_;
    std::mt19937_64 random_;
    std::vector<restart> restarts_;
    std::uint64_t durable_lost_ = 0;
    std::uint64_t altered_ = 0;
};

}  // namespace hf::demo
