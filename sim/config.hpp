// sim/config.hpp: what a simulated machine consists of, and what it does where the paper leaves a
// choice.
//
// Defaults are the paper's where it gives a number (a DTLB of 64 entries), and today's server cores
// elsewhere. Latencies of media: Coburn et al., ASPLOS 2011 (the NV-heaps paper), table 2 in
// nanoseconds. Energies a bit: Lee, Ipek, Mutlu, Burger, "Architecting Phase Change Memory as a
// Scalable DRAM Alternative", ISCA 2009, table 2 (array reads and writes); 0: not published there.
#pragma once

#include "base/bits.hpp"

#include <array>
#include <string_view>

namespace hf::sim {

inline constexpr unsigned max_cores = 4;

struct medium {
    std::string_view name;
    double read_ns;
    double write_ns;
    double read_pj_a_bit;
    double write_pj_a_bit;
};
/// All are simulated at once: they change times, not what is flushed.
inline constexpr std::array<medium, 3> media{
    {{"dram", 25, 35, 1.17, 0.39}, {"sttm", 29, 95, 0, 0}, {"pcm", 67, 215, 2.47, 16.82}}};
inline constexpr std::size_t dram = 0;
inline constexpr std::size_t sttm = 1;
inline constexpr std::size_t pcm = 2;

/// Nanoseconds of a simple in-order core: each access takes `access`, plus where it was found.
struct latencies {
    double access = 0.5;
    double second_level_tlb = 2;
    double page_walk = 20;
    double l2 = 4;
    double llc = 12;
    double flush = 1;     ///< to issue one; the write itself is waited for at the fence
    double fence = 5;     ///< with nothing to wait for
    double message = 50;  ///< to another core: an updated bitmap, a shootdown
    unsigned banks = 8;   ///< lines that the medium writes at the same time
};

struct hardware {
    unsigned cores = 1;
    unsigned tlb_entries = 64;  ///< L1 DTLB, fully associative; at most 254
    unsigned stlb_sets = 128;   ///< 0: the L1 DTLB is the last TLB
    unsigned stlb_ways = 12;
    unsigned l1_bytes = 32U << 10;
    unsigned l1_ways = 8;
    unsigned l2_bytes = 1U << 20;
    unsigned l2_ways = 16;
    unsigned llc_bytes = 8U << 20;
    unsigned llc_ways = 16;
    latencies takes;
};

/// When a page goes from two slots back to one.
enum class consolidation : u8 {
    at_eviction,  ///< when it leaves the last TLB of all cores (the paper)
    immediately,  ///< after each commit
    lazily,       ///< when more than shadow_config::split_pages have two slots: the oldest
};
enum class commit_path : u8 { journal, super_page };
/// When a page gets its second slot and its entry in the state table.
enum class insertion : u8 {
    at_miss,         ///< of the TLB (the paper)
    at_first_store,  ///< of a transaction
};
/// A page with updated lines that would leave the last TLB.
enum class overflow : u8 {
    spill,  ///< leaves it; its updated bits are kept in memory
    pin,    ///< stays; another page leaves. Spills where all pages are pinned
};

struct shadow_config {
    hardware on;
    consolidation when = consolidation::at_eviction;
    u64 split_pages = 16'384;  ///< lazily
    commit_path commits = commit_path::journal;
    unsigned journal_record = 24;  ///< bytes a page; 16 where a page has one owner
    u64 journal_lines = 1024;
    insertion inserts = insertion::at_miss;
    overflow full = overflow::spill;
    bool in_background = false;  ///< consolidation does not stop the core
};

/// One way to write a log. All of a list are simulated at once (log_machine.hpp).
struct log_config {
    enum class granularity : u8 { line, store };
    enum class packing : u8 {
        aligned,  ///< each record begins at a line, and is durable before the store
        packed,   ///< records follow each other; each is durable before the store
        batched,  ///< as packed, but all are flushed at once: the store set was known before
    };
    bool is_redo = false;
    granularity of = granularity::line;
    packing how = packing::aligned;
    unsigned head_bytes = 16;  ///< of a record: address, length, sequence
    unsigned markers = 1;      ///< 0; 1: the commit is a record of its own; 2: the begin, too
};

}  // namespace hf::sim
