// sim/counters.hpp: what a simulated machine has done.
#pragma once

#include "base/bits.hpp"
#include "sim/config.hpp"

#include <array>
#include <numeric>
#include <string_view>

namespace hf::sim {

/// The purpose of a flushed line.
enum class source : u8 {
    data,           ///< lines that transactions updated
    journal,        ///< commit records, or super pages
    consolidation,  ///< lines copied into the slot that is kept
    table,          ///< entries of the consistent state table
    mapping,        ///< the page table
    log,            ///< undo or redo records
    marker,         ///< commit records of a log
};
inline constexpr std::array<std::string_view, 7> source_names{
    "data", "journal", "consolidation", "table", "mapping", "log", "marker"};

using times = std::array<double, media.size()>;

struct counters {
    u64 loads = 0;
    u64 stores = 0;  ///< regular ones included
    u64 transactional_stores = 0;
    u64 unprotected_stores = 0;  ///< regular ones to persistent pages
    u64 transactions = 0;        ///< committed
    u64 aborts = 0;
    u64 rolled_back_lines = 0;  ///< whose bits were cleared
    u64 conflicts = 0;

    std::array<u64, source_names.size()> flushes{};
    u64 fences = 0;
    u64 write_backs = 0;  ///< of dirty lines that the LLC evicted

    u64 tlb_misses = 0;  ///< of the last TLB
    u64 tlb_load_misses = 0;
    u64 l1_tlb_misses = 0;
    u64 memory_reads = 0;

    u64 insertions = 0;
    u64 consolidations = 0;
    u64 truncations = 0;
    u64 spills = 0;
    u64 shootdowns = 0;
    u64 messages = 0;  ///< to other cores, with a page's new bits
    u64 max_split_pages = 0;

    times ns{};             ///< of all cores together, stalls included
    times fence_ns{};       ///< the part that fences waited
    times memory_ns{};      ///< the part that reads of memory waited
    times background_ns{};  ///< of writes that no core waited for

    [[nodiscard]] u64 flushed(source s) const noexcept {
        return flushes[static_cast<std::size_t>(s)];
    }
    [[nodiscard]] u64 all_flushes() const noexcept {
        return std::accumulate(flushes.begin(), flushes.end(), u64{0});
    }
    /// As the paper counts: "CPU flushes" of data, journal and consolidation, or of data and log.
    [[nodiscard]] u64 paper_flushes() const noexcept {
        return all_flushes() - flushed(source::table) - flushed(source::mapping);
    }
    [[nodiscard]] u64 accesses() const noexcept { return loads + stores; }
};

}  // namespace hf::sim
