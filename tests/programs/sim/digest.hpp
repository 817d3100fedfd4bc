// tests/programs/sim/digest.hpp: one number for all that a simulated machine has counted.
#pragma once

#include "base/checksum.hpp"
#include "sim/counters.hpp"
#include "sim/wear.hpp"

#include <sstream>
#include <string>
#include <vector>

namespace hf::sim {

inline std::vector<u64> words_of(const counters& n) {
    std::vector<u64> all{
        n.loads,          n.stores,       n.transactional_stores, n.unprotected_stores,
        n.transactions,   n.aborts,       n.rolled_back_lines,    n.conflicts,
        n.fences,         n.write_backs,  n.tlb_misses,           n.tlb_load_misses,
        n.l1_tlb_misses,  n.memory_reads, n.insertions,           n.consolidations,
        n.truncations,    n.spills,       n.shootdowns,           n.messages,
        n.max_split_pages};
    all.insert(all.end(), n.flushes.begin(), n.flushes.end());
    for (const times* t : {&n.ns, &n.fence_ns, &n.memory_ns, &n.background_ns}) {
        for (const double ns : *t) all.push_back(static_cast<u64>(2 * ns));  // halves are exact
    }
    return all;
}
inline std::vector<u64> words_of(const wear_summary& w) {
    return {w.lines, w.writes, w.worst, w.median, w.p99};
}

/// Fits into a literal of a test.
inline u32 digest_of(const std::vector<u64>& words) {
    return static_cast<u32>(checksum64(words.data(), words.size() * sizeof(u64)));
}
inline std::string text_of(const std::vector<u64>& words) {
    std::ostringstream out;
    for (const u64 w : words) out << w << ' ';
    return out.str();
}

}  // namespace hf::sim
