// bench/compare/report.hpp: the results of a comparison, as tables and as JSON.
#pragma once

#include "bench/compare/lag.hpp"
#include "bench/compare/options.hpp"
#include "bench/compare/round.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace hf::bench {

/// One repetition of an entrant in a cell.
struct sample {
    round_result round;
    u64 all_puts = 0;           ///< including the warm-up
    u64 memory_bytes = 0;       ///< used by the store for its data, as it reports
    u64 storage_bytes = 0;      ///< from the start of the warm-up until the store was idle
    contender::counts counted;  ///< of the store itself, over the same time
};

struct cell {
    workload work;
    distribution spread;
    acknowledge ack;
    std::vector<std::vector<sample>> of_entrant;
    std::vector<std::vector<sample>> running_in;  ///< warm-up of each entrant, which does not count
    std::vector<lag> lags;                        ///< of each entrant; empty: not measured
};

struct loading {
    round_result round;
    double settle_seconds = 0;  ///< duration of background work after the load
    u64 storage_bytes = 0;
    u64 occupied_bytes = 0;
};

struct comparison_results {
    std::vector<std::string> entrants;
    std::vector<loading> loads;  ///< one for each entrant
    std::vector<cell> cells;
};

/// Operations a second of each repetition.
[[nodiscard]] std::vector<double> throughputs(const std::vector<sample>& samples);
/// Latencies of all operations in all repetitions.
[[nodiscard]] histogram latencies(const std::vector<sample>& samples);
/// Bytes written to storage for each byte of the put values, for each repetition.
[[nodiscard]] std::vector<double> amplifications(const std::vector<sample>& samples,
                                                 u32 value_size);
/// Bytes counted by the store itself.
[[nodiscard]] u64 own_bytes(const contender::counts& counted);

void report_loads(const comparison_results& r, u32 value_size, std::ostream& out,
                  nlohmann::json& json);
void report_cells(const comparison_results& r, u32 value_size, std::ostream& out,
                  nlohmann::json& json);
/// The lag of durability.
void report_lags(const comparison_results& r, std::ostream& out, nlohmann::json& json);

}  // namespace hf::bench
