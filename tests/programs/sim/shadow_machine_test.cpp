// The simulated machine by hand: small programs whose flushes can be counted on paper.
#include "sim/shadow_machine.hpp"

#include <gtest/gtest.h>

namespace hf::sim {
namespace {

shadow_config small() {
    shadow_config c;
    c.on.tlb_entries = 4;
    c.on.stlb_sets = 0;
    c.inserts = insertion::at_first_store;
    return c;
}
void update(shadow_machine<>& m, u64 address, unsigned bytes = 8, unsigned core = 0) {
    m.begin(core);
    m.store(core, address, bytes);
    m.commit(core);
}
void visit(shadow_machine<>& m, u64 first, u64 pages) {
    for (u64 v = first; v < first + pages; ++v) m.load(0, v * 4096, 8);
}

TEST(shadow_machine, a_commit_flushes_data_and_one_line_of_journal) {
    shadow_machine<> m(small(), 16);
    m.begin(0);
    m.store(0, 0, 8);
    m.store(0, 8, 8);
    m.store(0, 4096 + 60, 8);  // crosses a line
    m.commit(0);
    const counters& n = m.numbers();
    EXPECT_EQ(n.flushed(source::data), 3U);
    EXPECT_EQ(n.flushed(source::journal), 1U);
    EXPECT_EQ(n.flushed(source::table), 2U) << "two new entries, which share a line";
    EXPECT_EQ(n.flushed(source::consolidation), 0U);
    EXPECT_EQ(n.fences, 2U);
    EXPECT_EQ(n.transactional_stores, 4U);
}

TEST(shadow_machine, a_line_goes_back_and_forth_between_the_slots) {
    shadow_machine<> m(small(), 16);
    const u64 home = m.line_of(0, 64);
    update(m, 64);
    const u64 other = m.line_of(0, 64);
    EXPECT_NE(home, other);
    EXPECT_EQ(m.line_of(0, 128), 2U) << "its neighbour stayed";
    update(m, 64);
    EXPECT_EQ(m.line_of(0, 64), home);
    m.begin(0);
    m.store(0, 64, 8);
    EXPECT_EQ(m.line_of(0, 64), other);
    m.abort(0);
    EXPECT_EQ(m.line_of(0, 64), home);
    EXPECT_EQ(m.numbers().rolled_back_lines, 1U);
}

TEST(shadow_machine, an_evicted_page_is_merged_into_the_slot_with_more_lines) {
    shadow_machine<> m(small(), 16);
    update(m, 0, 3 * 64);
    visit(m, 1, 4);
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 3U);
    EXPECT_EQ(m.numbers().flushed(source::mapping), 0U);
    EXPECT_FALSE(m.page(0).has_entry());
    EXPECT_EQ(m.line_of(0, 0), 0U) << "at home again";

    update(m, 0, 60 * 64);
    visit(m, 1, 4);
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 3U + 4U);
    EXPECT_EQ(m.numbers().flushed(source::mapping), 1U);
    EXPECT_NE(m.line_of(0, 0), 0U);
}

TEST(shadow_machine, an_stlb_keeps_pages_from_consolidation) {
    shadow_config c = small();
    c.on.stlb_sets = 1;
    c.on.stlb_ways = 8;
    shadow_machine<> m(c, 16);
    update(m, 0);
    visit(m, 1, 4);
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 0U);
    visit(m, 5, 8);
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 1U);
}

TEST(shadow_machine, consolidation_at_once_goes_through_the_journal) {
    shadow_config c = small();
    c.when = consolidation::immediately;
    shadow_machine<> m(c, 16);
    update(m, 0, 2 * 64);
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 2U + 1U) << "two lines and a record";
    EXPECT_FALSE(m.page(0).is_split());
    EXPECT_TRUE(m.page(0).has_entry());
}

TEST(shadow_machine, lazily_the_page_committed_longest_ago_is_consolidated) {
    shadow_config c = small();
    c.when = consolidation::lazily;
    c.split_pages = 2;
    shadow_machine<> m(c, 16);
    update(m, 0);
    update(m, 4096);
    update(m, 0);  // page 0 is the newer one; its line is at home again
    update(m, 0);
    update(m, 2 * 4096);
    EXPECT_FALSE(m.page(1).has_entry());
    EXPECT_TRUE(m.page(0).has_entry());
    EXPECT_TRUE(m.page(2).has_entry());
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 1U);
    EXPECT_EQ(m.numbers().shootdowns, 1U) << "page 1 was in the TLB";
    visit(m, 8, 8);
    EXPECT_TRUE(m.page(0).has_entry()) << "evicted from the TLB, but still split";
}

TEST(shadow_machine, a_page_with_updated_lines_spills_and_is_consolidated_after_the_commit) {
    shadow_machine<> m(small(), 16);
    m.begin(0);
    m.store(0, 0, 8);
    visit(m, 1, 4);
    EXPECT_EQ(m.numbers().spills, 1U);
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 0U);
    EXPECT_TRUE(m.page(0).has_entry());
    m.commit(0);
    EXPECT_EQ(m.numbers().flushed(source::data), 1U);
    EXPECT_EQ(m.numbers().flushed(source::consolidation), 1U);
    EXPECT_FALSE(m.page(0).has_entry());
}

TEST(shadow_machine, a_pinned_page_does_not_spill) {
    shadow_config c = small();
    c.full = overflow::pin;
    shadow_machine<> m(c, 16);
    m.begin(0);
    m.store(0, 0, 8);
    visit(m, 1, 8);
    EXPECT_EQ(m.numbers().spills, 0U);
    m.store(0, 1 * 4096, 8);
    m.store(0, 2 * 4096, 8);
    m.store(0, 3 * 4096, 8);
    visit(m, 9, 1);
    EXPECT_EQ(m.numbers().spills, 1U) << "all four entries are pinned";
    m.commit(0);
}

TEST(shadow_machine, entries_at_each_miss_cost_two_flushes_a_visited_page) {
    shadow_config c = small();
    c.inserts = insertion::at_miss;
    shadow_machine<> m(c, 16);
    visit(m, 0, 8);
    EXPECT_EQ(m.numbers().insertions, 8U);
    EXPECT_EQ(m.numbers().flushed(source::table), 8U + 4U) << "four have left again";
    EXPECT_EQ(m.numbers().tlb_load_misses, 8U);
}

TEST(shadow_machine, the_journal_is_truncated_when_it_is_full) {
    shadow_config c = small();
    c.journal_lines = 4;
    shadow_machine<> m(c, 16);
    for (unsigned i = 0; i < 4; ++i) update(m, 0);
    EXPECT_EQ(m.numbers().truncations, 0U);
    const u64 before = m.numbers().flushed(source::table);
    update(m, 0);
    EXPECT_EQ(m.numbers().truncations, 1U);
    EXPECT_EQ(m.numbers().flushed(source::table) - before, 1U) << "one entry's line was dirty";
    EXPECT_EQ(m.numbers().flushed(source::journal), 5U + 1U) << "five records, the new beginning";
}

TEST(shadow_machine, a_super_page_commits_by_its_bitmaps_and_the_root) {
    shadow_config c = small();
    c.commits = commit_path::super_page;
    shadow_machine<> m(c, 16);
    m.begin(0);
    m.store(0, 0, 8);
    m.store(0, 4096, 8);
    m.commit(0);
    EXPECT_EQ(m.numbers().flushed(source::journal), 2U);
    EXPECT_EQ(m.numbers().fences, 2U);
    EXPECT_EQ(m.numbers().truncations, 0U);
}

TEST(shadow_machine, records_of_16_bytes_fit_three_pages_in_a_line) {
    for (const unsigned record : {16U, 24U}) {
        shadow_config c = small();
        c.journal_record = record;
        shadow_machine<> m(c, 16);
        m.begin(0);
        for (u64 v = 0; v < 3; ++v) m.store(0, v * 4096, 8);
        m.commit(0);
        EXPECT_EQ(m.numbers().flushed(source::journal), record == 16 ? 1U : 2U);
    }
}

TEST(shadow_machine, in_the_background_no_core_waits_for_consolidation) {
    shadow_config c = small();
    shadow_machine<> front(c, 16);
    c.in_background = true;
    shadow_machine<> back(c, 16);
    for (shadow_machine<>* m : {&front, &back}) {
        update(*m, 0);
        visit(*m, 1, 4);
    }
    EXPECT_EQ(front.numbers().all_flushes(), back.numbers().all_flushes());
    EXPECT_LT(back.numbers().ns[pcm], front.numbers().ns[pcm]);
    EXPECT_GT(back.numbers().background_ns[pcm], 0);
    EXPECT_EQ(front.numbers().background_ns[pcm], 0);
}

TEST(shadow_machine, regular_stores_go_in_place_and_evict_entries_too) {
    shadow_machine<> m(small(), 16);
    update(m, 0);
    for (u64 i = 0; i < 4; ++i) m.store(0, volatile_memory + i * 4096, 8);
    EXPECT_FALSE(m.page(0).has_entry()) << "the stack's pages took its place";
    m.store(0, 5 * 4096, 8);
    EXPECT_EQ(m.numbers().unprotected_stores, 1U);
    EXPECT_FALSE(m.page(5).has_entry());
    EXPECT_EQ(m.numbers().flushed(source::data), 1U);
}

TEST(shadow_machine, counts_wear_of_data_and_journal) {
    shadow_machine<> m(small(), 16);
    for (unsigned i = 0; i < 10; ++i) update(m, 0);
    const wear_summary w = m.wear_of_lines();
    EXPECT_EQ(w.writes, m.numbers().all_flushes());
    EXPECT_EQ(w.worst, 5U) << "ten commits, five to each slot";
    m.reset_numbers();
    EXPECT_EQ(m.wear_of_lines().writes, 0U);
    EXPECT_EQ(m.numbers().max_split_pages, 1U);
}

TEST(shadow_machine_death, an_address_beyond_its_pages_ends_the_process) {
    shadow_machine<> m(small(), 16);
    EXPECT_DEATH(m.load(0, 16 * 4096, 8), "beyond the simulated memory");
    EXPECT_DEATH(m.commit(0), "without a transaction");
}

}  // namespace
}  // namespace hf::sim
