// bench/compare/lag.hpp: the time from a store's acknowledgement to durability.
//
// A normal round with an additional client that puts a probe every millisecond. A power failure at
// a random instant would lose the probes that were acknowledged before it and have not landed yet
// (disk_watch.hpp); the age of the oldest of them is the lag.
#pragma once

#include "base/histogram.hpp"
#include "bench/compare/disk_watch.hpp"
#include "bench/compare/round.hpp"

#include <span>
#include <vector>

namespace hf::bench {

struct lag {
    u64 first = 0;  ///< the first probe's number
    u64 probes = 0;
    u64 landed = 0;        ///< number of landed probes; 0: none was observed for this store
    u64 early = 0;         ///< number acknowledged before they landed
    histogram at_risk_ns;  ///< at equidistant instants: age of the oldest write at risk
    histogram to_land_ns;  ///< of each probe, from its acknowledgement; 0: it had landed before
    std::vector<u64> acknowledged_ns;  ///< of probe first + i
    std::vector<landing> landings;
};

/// Both are ordered by time.
[[nodiscard]] lag lag_of(u64 first, std::vector<u64> acknowledged_ns,
                         std::vector<landing> landings);

/// The probes use the key of record `probe_record`, which no step may use.
[[nodiscard]] result<lag> measure_lag(contender& c, ledger& notes, const round_plan& plan,
                                      u64 probe_record);

/// errc::violation if writes landed only after they were acknowledged as durable.
[[nodiscard]] result<void> as_promised(const lag& l, acknowledge ack);

}  // namespace hf::bench
