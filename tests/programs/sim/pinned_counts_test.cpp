// The counts of one deterministic run, for each kind of machine: they stay as they are when the
// simulator's data structures change. A change that is meant to change them changes this table.
#include "digest.hpp"
#include "sim/interleaver.hpp"
#include "sim/log_machine.hpp"
#include "sim/shadow_machine.hpp"
#include "sim/synthetic.hpp"

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>
#include <vector>

namespace hf::sim {
namespace {

struct pinned_run {
    const char* name;
    void (*change)(shadow_config& c);
    /// Flushes, fences, misses of the last TLB, reads of memory, write backs, consolidations, half
    /// nanoseconds on PCM.
    std::array<u64, 7> counts;
    u32 digest;  ///< of all that was counted, and of the lines' wear
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
    std::vector<u64> all = words_of(n);
    const std::vector<u64> wear = words_of(m.wear_of_lines());
    all.insert(all.end(), wear.begin(), wear.end());
    EXPECT_EQ(digest_of(all), GetParam().digest) << text_of(all);
}

INSTANTIATE_TEST_SUITE_P(
    machines, pinned_counts,
    testing::Values(pinned_run{"paper",
                               [](shadow_config&) {},
                               {21573, 7649, 15863, 20465, 19, 1871, 7484238},
                               2375161968},
                    pinned_run{"two_levels_of_tlb",
                               [](shadow_config& c) { c.on.stlb_sets = 8; },
                               {21497, 7600, 14639, 21176, 35, 1846, 7549844},
                               1774784071},
                    pinned_run{"super_pages",
                               [](shadow_config& c) { c.commits = commit_path::super_page; },
                               {22946, 7648, 15863, 20465, 19, 1871, 7458594},
                               428788395},
                    pinned_run{"insertion_at_misses",
                               [](shadow_config& c) { c.inserts = insertion::at_miss; },
                               {49762, 37344, 15863, 22709, 71, 1871, 20954772},
                               2539550827},
                    pinned_run{"consolidation_at_once",
                               [](shadow_config& c) { c.when = consolidation::immediately; },
                               {23801, 9592, 15863, 19186, 20, 1906, 8110744},
                               814948372},
                    pinned_run{"pinned_pages",
                               [](shadow_config& c) {
                                   c.full = overflow::pin;
                                   c.on.tlb_entries = 4;
                               },
                               {21689, 7717, 21885, 19170, 6, 1905, 7506428},
                               2102420921},
                    pinned_run{"lazy",
                               [](shadow_config& c) {
                                   c.on.stlb_sets = 8;
                                   c.when = consolidation::lazily;
                                   c.split_pages = 64;
                               },
                               {20670, 7102, 14663, 24064, 80, 1599, 7798900},
                               1726293914}),
    [](const auto& tested) { return std::string(tested.param.name); });

hardware few_entries(unsigned cores) {
    hardware h;
    h.cores = cores;
    h.tlb_entries = 4;
    h.stlb_sets = 2;
    h.stlb_ways = 4;
    h.l1_bytes = 1U << 10;
    h.l2_bytes = 64U << 10;
    h.l2_ways = 1;
    h.llc_bytes = 256U << 10;
    h.llc_ways = 4;
    return h;
}

/// Transactions of all cores at once, on pages that they share, and a shootdown now and then.
void run_cores(shadow_machine<>& m, unsigned cores, u64 rounds) {
    interleaver turns(m, cores, 5);  // the last turn of a transaction is shorter
    synthetic_options o;
    o.pages = 64;
    o.operations = 2;
    o.aborts_in_1000 = 100;
    xoshiro256ss random(5);
    for (u64 i = 0; i < rounds; ++i) {
        for (unsigned core = 0; core < cores; ++core) {
            o.seed = i * cores + core;
            run_synthetic(o, 1, core, turns);
        }
        turns.run();
        if (i % 16 == 0) m.shootdown(random.below(o.pages) * shadow::page_size);
    }
}

TEST(pinned_counts, of_several_cores_are_those_of_the_first_simulator) {
    std::vector<u32> found;
    for (const unsigned cores : {2U, 3U, 4U}) {
        for (const auto when :
             {consolidation::at_eviction, consolidation::immediately, consolidation::lazily}) {
            shadow_config c;
            c.on = few_entries(cores);
            c.when = when;
            c.split_pages = 16;
            c.journal_lines = 64;
            c.in_background = cores == 3;
            c.commits = cores == 4 ? commit_path::super_page : commit_path::journal;
            c.inserts = cores == 4 ? insertion::at_miss : insertion::at_first_store;
            c.full = cores == 2 ? overflow::pin : overflow::spill;
            shadow_machine<> m(c, 64);
            run_cores(m, cores, 60);
            found.push_back(digest_of(words_of(m.numbers())));
        }
    }
    EXPECT_EQ(found, (std::vector<u32>{1691225867, 950787057, 4206815387, 1307412410, 3105592586,
                                       1475099995, 2527008065, 436384733, 3847944952}));
}

TEST(pinned_counts, of_every_log_are_those_of_the_first_simulator) {
    using g = log_config::granularity;
    using p = log_config::packing;
    std::vector<log_config> logs;
    for (const bool is_redo : {false, true}) {
        for (const g of : {g::line, g::store}) {
            for (const p how : {p::aligned, p::packed, p::batched}) {
                for (const unsigned head : {0U, 16U}) {
                    for (const unsigned markers : {0U, 1U, 2U}) {
                        logs.push_back({is_redo, of, how, head, markers});
                    }
                }
            }
        }
    }
    log_machine m(few_entries(1), 64, logs);
    synthetic_options o;
    o.pages = 64;
    o.stack_pages = 1;
    o.aborts_in_1000 = 100;
    run_synthetic(o, 100, 0, m);
    m.reset_numbers();
    run_synthetic(o, 400, 0, m);
    std::vector<u64> all = words_of(m.wear_of_lines());
    for (std::size_t i = 0; i < logs.size(); ++i) {
        const std::vector<u64> one = words_of(m.numbers(i));
        all.insert(all.end(), one.begin(), one.end());
    }
    EXPECT_EQ(digest_of(all), 1946025862);
}

}  // namespace
}  // namespace hf::sim
