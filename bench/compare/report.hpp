// bench/compare/report.hpp: what a comparison has measured, as tables and as JSON.
#pragma once

#include "bench/compare/lag.hpp"
#include "bench/compare/options.hpp"
#include "bench/compare/round.hpp"

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace hf::bench {

/// A repetition of one entrant in one cell.
struct sample {
    round_result round;
    u64 all_puts = 0;           ///< the warm-up's, too
    u64 memory_bytes = 0;       ///< that the store holds its data in, as it says
    u64 storage_bytes = 0;      ///< from the warm-up's begin until the store was at rest
    contender::counts counted;  ///< of the store itself, over the same time
};

struct cell {
    workload work;
    distribution spread;
    acknowledge ack;
    std::vector<std::vector<sample>> of_entrant;
    std::vector<std::vector<sample>> running_in;  ///< of each entrant one, which does not count
    std::vector<lag> lags;                        ///< of each entrant; empty: not to be measured
};

struct loading {
    round_result round;
    double settle_seconds = 0;  ///< background work after it
    u64 storage_bytes = 0;
    u64 occupied_bytes = 0;
};

struct comparison_results {
    std::vector<std::string> entrants;
    std::vector<loading> loads;  ///< one an entrant
    std::vector<cell> cells;
};

/// Operations a second, repetition by repetition.
[[nodiscard]] std::vector<double> throughputs(const std::vector<sample>& samples);
/// Of all operations of all repetitions.
[[nodiscard]] histogram latencies(const std::vector<sample>& samples);
/// Bytes written to storage for each byte of a value that was put; a repetition each.
[[nodiscard]] std::vector<double> amplifications(const std::vector<sample>& samples,
                                                 u32 value_size);
/// Bytes that the store itself counted.
[[nodiscard]] u64 own_bytes(const contender::counts& counted);

void report_loads(const comparison_results& r, u32 value_size, std::ostream& out,
                  nlohmann::json& json);
void report_cells(const comparison_results& r, u32 value_size, std::ostream& out,
                  nlohmann::json& json);
/// How far behind the disk is.
void report_lags(const comparison_results& r, std::ostream& out, nlohmann::json& json);

}  // namespace hf::bench
