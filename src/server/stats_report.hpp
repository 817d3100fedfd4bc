// server/stats_report.hpp: the answers to `stats` and `stats settings`.
#pragma once

#include <holdfast/statistics.hpp>

#include "server/counters.hpp"
#include "server/server.hpp"

#include <string>

namespace hf::detail {

/// The server's state beyond its workers' counters.
struct server_facts {
    u64 now = 0;         ///< seconds since 1970
    u64 started_ns = 0;  ///< by now_ns()
    u64 open_connections = 0;
    u64 total_connections = 0;
    u64 rejected_connections = 0;
    std::string version;
};

/// `STAT name value` lines and END.
[[nodiscard]] std::string general_report(const server_facts& facts, const server_options& options,
                                         const tallies& counted, const statistics& s);
[[nodiscard]] std::string settings_report(const server_options& options);

}  // namespace hf::detail
