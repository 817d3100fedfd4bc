// The counts of one deterministic run, for each kind of machine: they stay as they are when the
// simulator's data structures change. A change that is meant to change them changes this table.
#include "sim/shadow_machine.hpp"
#include "sim/synthetic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>

namespace hf::sim {
namespace {

struct pinned_run {
    const char* name;
    void (*change)(shadow_config& c);
    /// Flushes, fences, misses of the last TLB, reads of memory, write backs, consolidations, half
    /// nanoseconds on PCM.
    std::array<u64, 7> counts;
};
void PrintTo(const pinned_run& r, std::ostream* out) { *out << r.name; }

class pinned_counts : public testing::TestWithParam<pinned_run> {};

// Uniform keys: Zipf's law needs logarithms, whose last bits are the C library's.
TEST_P(pinned_counts, are_those_of_the_first_simulator) {
    shadow_config c;
    c.on.stlb_sets = 0;
    c.on.l1_bytes = 4U << 10;
    c.on.l2_bytes = 128U << 10;  // 1,024 sets, as volatile lines need
    c.on.l2_ways = 2;
    c.on.llc_bytes = 512U << 10;
    c.on.llc_ways = 8;
    c.inserts = insertion::at_first_store;
    GetParam().change(c);
    synthetic_options o;
    o.pages = 512;
    o.stack_pages = 2;
    o.aborts_in_1000 = 50;
    shadow_machine<> m(c, o.pages);
    run_synthetic(o, 2000, 0, m);
    const counters& n = m.numbers();
    const std::array<u64, 7> now{n.all_flushes(),
                                 n.fences,
                                 n.tlb_misses,
                                 n.memory_reads,
                                 n.write_backs,
                                 n.consolidations,
                                 static_cast<u64>(2 * n.ns[pcm])};
    EXPECT_EQ(now, GetParam().counts);
}

INSTANTIATE_TEST_SUITE_P(
    machines, pinned_counts,
    testing::Values(
        pinned_run{"paper", [](shadow_config&) {}, {21573, 7649, 15863, 20465, 19, 1871, 7484238}},
        pinned_run{"two_levels_of_tlb",
                   [](shadow_config& c) { c.on.stlb_sets = 8; },
                   {21497, 7600, 14639, 21176, 35, 1846, 7549844}},
        pinned_run{"super_pages",
                   [](shadow_config& c) { c.commits = commit_path::super_page; },
                   {22946, 7648, 15863, 20465, 19, 1871, 7458594}},
        pinned_run{"insertion_at_misses",
                   [](shadow_config& c) { c.inserts = insertion::at_miss; },
                   {49762, 37344, 15863, 22709, 71, 1871, 20954772}},
        pinned_run{"consolidation_at_once",
                   [](shadow_config& c) { c.when = consolidation::immediately; },
                   {23801, 9592, 15863, 19186, 20, 1906, 8110744}},
        pinned_run{"pinned_pages",
                   [](shadow_config& c) {
                       c.full = overflow::pin;
                       c.on.tlb_entries = 4;
                   },
                   {21689, 7717, 21885, 19170, 6, 1905, 7506428}},
        pinned_run{"lazy",
                   [](shadow_config& c) {
                       c.on.stlb_sets = 8;
                       c.when = consolidation::lazily;
                       c.split_pages = 64;
                   },
                   {20670, 7102, 14663, 24064, 80, 1599, 7798900}}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace hf::sim
