// bench/compare/lag.hpp: how far a store's durability lags behind what it has acknowledged.
//
// A round like any other, and a client more that puts a probe every millisecond. What a power cut
// at a random instant would take are the probes that were acknowledged before it and have not
// landed yet (disk_watch.hpp); the oldest of them says how far behind the disk is.
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
    u64 landed = 0;        ///< of them; 0: nothing was seen of this store
    u64 early = 0;         ///< acknowledged before they had landed
    histogram at_risk_ns;  ///< at instants evenly apart: age of the oldest write to be lost
    histogram to_land_ns;  ///< of each probe, from its acknowledgement; 0: it had landed before
    std::vector<u64> acknowledged_ns;  ///< of probe first + i
    std::vector<landing> landings;
};

/// Both ordered by time.
[[nodiscard]] lag lag_of(u64 first, std::vector<u64> acknowledged_ns,
                         std::vector<landing> landings);

/// The probes' key is that of record number `probe_record`, which no step may name.
[[nodiscard]] result<lag> measure_lag(contender& c, ledger& notes, const round_plan& plan,
                                      u64 probe_record);

/// errc::violation if writes were acknowledged as durable that were seen to land later.
[[nodiscard]] result<void> as_promised(const lag& l, acknowledge ack);

}  // namespace hf::bench
