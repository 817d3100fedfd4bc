// Caches against sets kept by hand, and the levels' dirty lines.
#include "sim/caches.hpp"

#include "sim/core_clock.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <list>
#include <map>

namespace hf::sim {
namespace {

/// One set: the newest first, with its dirty bit.
using plain_set = std::list<std::pair<u64, bool>>;

/// A cache of four sets against lists.
template <class Tag>
void acts_as_lru_sets_do(unsigned ways, const std::vector<std::pair<u16, bool>>& steps) {
    cache<Tag> c(4 * ways * 64, ways);
    std::map<u64, plain_set> sets;
    for (const auto& [step, dirty] : steps) {
        const u64 line = step % (4 * (ways + 3));
        plain_set& set = sets[line % 4];
        const auto at =
            std::find_if(set.begin(), set.end(), [&](auto& e) { return e.first == line; });
        if (step % 256 >= 230) {
            const bool was_dirty = at != set.end() && at->second;
            RC_ASSERT((step % 2 == 0 ? c.clean(line) : c.remove(line)) == was_dirty);
            if (at != set.end() && step % 2 == 0) at->second = false;
            if (at != set.end() && step % 2 == 1) set.erase(at);
            continue;
        }
        if (!set.empty() && set.front().first == line) {
            RC_ASSERT(c.put_newest(line, dirty));
            at->second |= dirty;
            continue;
        }
        RC_ASSERT(!c.put_newest(line, dirty));
        const auto [hit, left] = c.put(line, dirty);
        RC_ASSERT(hit == (at != set.end()));
        u64 out = cache<Tag>::none;
        if (hit) {
            const bool was = at->second;
            set.erase(at);
            set.emplace_front(line, was || dirty);
            RC_ASSERT(left == out);
            continue;
        }
        if (set.size() == ways) {
            if (set.back().second) out = set.back().first;
            set.pop_back();
        }
        set.emplace_front(line, dirty);
        RC_ASSERT(left == out);
    }
}

RC_GTEST_PROP(cache, fills_and_evicts_as_lru_sets_do, ()) {
    // Long runs of few lines, so that sets are full.
    const auto steps = *rc::gen::container<std::vector<std::pair<u16, bool>>>(
        400, rc::gen::pair(rc::gen::arbitrary<u16>(), rc::gen::arbitrary<bool>()));
    for (const unsigned ways : {1U, 2U, 3U, 7U, 8U}) {
        acts_as_lru_sets_do<u32>(ways, steps);
        acts_as_lru_sets_do<u64>(ways, steps);
    }
    for (const unsigned ways : {9U, 15U, 16U}) acts_as_lru_sets_do<u32>(ways, steps);
}

TEST(cache, more_ways_than_a_line_of_tags_end_the_process) {
    EXPECT_DEATH(cache<u32>(17 * 64, 17), "more ways than one line has tags");
    EXPECT_DEATH(cache<u64>(9 * 64, 9), "more ways than one line has tags");
}

TEST(cache, a_line_that_its_tags_cannot_hold_ends_the_process) {
    cache<u32> c(8 * 64, 2);
    c.put((u64{1} << 33) - 5, true);
    EXPECT_DEATH(c.put(u64{1} << 33, true), "beyond a cache's tags");
    cache<u64> wide(8 * 64, 2);
    wide.put(u64{1} << 41, true);
    wide.put(2 * (u64{1} << 41), false);
    EXPECT_EQ(wide.put(3 * (u64{1} << 41), false).out, u64{1} << 41)
        << "the whole number comes back";
}

hardware tiny(unsigned cores = 1) {
    hardware h;
    h.cores = cores;
    h.l1_bytes = 64;
    h.l1_ways = 1;
    h.l2_bytes = 2 * 64;
    h.l2_ways = 2;
    h.llc_bytes = 4 * 64;
    h.llc_ways = 4;
    return h;
}

TEST(caches, a_line_is_found_where_it_was_left) {
    caches c(tiny());
    EXPECT_EQ(c.access(0, 1, false), caches::found::memory);
    EXPECT_EQ(c.access(0, 1, false), caches::found::l1);
    c.access(0, 2, false);
    EXPECT_EQ(c.access(0, 1, false), caches::found::l2);
    c.access(0, 2, false);
    c.access(0, 3, false);
    EXPECT_EQ(c.access(0, 1, false), caches::found::llc);
}

TEST(caches, a_dirty_line_is_written_back_once_when_the_llc_loses_it) {
    caches c(tiny());
    c.access(0, 1, true);
    for (u64 line = 2; line < 12; ++line) c.access(0, line, false);
    EXPECT_EQ(c.write_backs(), 1U);
    EXPECT_EQ(c.access(0, 1, false), caches::found::memory);
}

TEST(caches, a_line_that_was_cleaned_is_not_written_back) {
    caches c(tiny());
    c.access(0, 1, true);
    EXPECT_TRUE(c.clean(1));
    EXPECT_FALSE(c.clean(1));
    EXPECT_EQ(c.access(0, 1, false), caches::found::l1) << "it stays";
    for (u64 line = 2; line < 12; ++line) c.access(0, line, false);
    EXPECT_EQ(c.write_backs(), 0U);
}

TEST(caches, a_retagged_line_is_dirty_under_its_new_name_alone) {
    caches c(tiny());
    c.access(0, 1, false);
    EXPECT_EQ(c.retag(0, 1, 65), caches::found::l1);
    EXPECT_EQ(c.access(0, 65, false), caches::found::l1);
    EXPECT_TRUE(c.clean(65));
    EXPECT_FALSE(c.clean(1));
}

TEST(caches, a_retag_keeps_the_old_version_that_was_dirty) {
    caches c(tiny());
    c.access(0, 1, true);
    c.retag(0, 1, 65);
    EXPECT_TRUE(c.clean(1)) << "it had not been flushed";
}

TEST(caches, a_store_takes_the_line_from_other_cores) {
    caches c(tiny(2));
    c.access(0, 1, true);
    c.access(1, 1, true);
    EXPECT_NE(c.access(0, 1, false), caches::found::l1);
}

counters counted_by(const core_clock& clock) {
    counters n;
    clock.add_to(n);
    return n;
}

TEST(core_clock, takes_longer_for_each_level_that_is_farther_away) {
    const latencies takes;
    core_clock clock(takes);
    double sum = 0;
    const auto expect_of = [&](caches::found where, double ns) {
        clock.accessed(where, true);
        sum += takes.access + ns;
        EXPECT_DOUBLE_EQ(counted_by(clock).ns[dram], sum);
    };
    expect_of(caches::found::l1, 0);
    expect_of(caches::found::l2, takes.l2);
    expect_of(caches::found::llc, takes.llc);
    EXPECT_EQ(counted_by(clock).memory_reads, 0U);
    expect_of(caches::found::memory, takes.llc + media[dram].read_ns);
    EXPECT_EQ(counted_by(clock).memory_reads, 1U);
}

TEST(core_clock, reads_volatile_memory_from_dram_whatever_the_medium_is) {
    const latencies takes;
    core_clock clock(takes);
    clock.accessed(caches::found::memory, false);
    const counters n = counted_by(clock);
    for (const double ns : n.ns)
        EXPECT_DOUBLE_EQ(ns, takes.access + takes.llc + media[dram].read_ns);
    for (const double ns : n.memory_ns) EXPECT_DOUBLE_EQ(ns, media[dram].read_ns);
    clock.accessed(caches::found::memory, true);
    EXPECT_DOUBLE_EQ(counted_by(clock).memory_ns[pcm], media[dram].read_ns + media[pcm].read_ns);
}

TEST(core_clock, waits_at_a_fence_for_the_lines_since_the_fence_before) {
    const latencies takes;
    core_clock clock(takes);
    for (unsigned i = 0; i < takes.banks + 1; ++i) clock.flush();
    clock.fence();
    EXPECT_DOUBLE_EQ(counted_by(clock).fence_ns[pcm], takes.fence + 2 * media[pcm].write_ns);
    clock.fence();
    EXPECT_DOUBLE_EQ(counted_by(clock).fence_ns[pcm], 2 * takes.fence + 2 * media[pcm].write_ns);
    EXPECT_EQ(counted_by(clock).fences, 2U);
    EXPECT_DOUBLE_EQ(counted_by(clock).ns[pcm],
                     (takes.banks + 1) * takes.flush + counted_by(clock).fence_ns[pcm]);
    clock.flush();
    clock.reset();
    clock.fence();
    EXPECT_DOUBLE_EQ(counted_by(clock).ns[dram], takes.fence + media[dram].write_ns)
        << "the line was under way";
}

TEST(core_clock, counts_translations_messages_and_background_work) {
    const latencies takes;
    core_clock clock(takes);
    clock.translated(tlbs::found::first);
    EXPECT_EQ(counted_by(clock).ns[dram], 0);
    clock.translated(tlbs::found::second);
    clock.translated(tlbs::found::nowhere);
    clock.message();
    EXPECT_DOUBLE_EQ(counted_by(clock).ns[sttm],
                     takes.second_level_tlb + takes.page_walk + takes.message);
    clock.in_background(2, 3);
    EXPECT_DOUBLE_EQ(counted_by(clock).background_ns[sttm],
                     2 * media[sttm].read_ns + 3 * media[sttm].write_ns);
    EXPECT_DOUBLE_EQ(counted_by(clock).ns[sttm],
                     takes.second_level_tlb + takes.page_walk + takes.message);
}

}  // namespace
}  // namespace hf::sim
