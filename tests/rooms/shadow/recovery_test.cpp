// Replay of a journal into a state table, and the slots in use.
#include "shadow/rules.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <set>
#include <vector>

namespace hf::shadow {
namespace {

/// Some records one after another, as commits write them.
struct written_journal {
    std::vector<std::byte> bytes;
    u64 next;

    explicit written_journal(u64 first) : next(first) {}
    void add(const std::vector<page_change>& changes) {
        const std::size_t at = bytes.size();
        bytes.resize(at + record_lines(changes.size()) * line_size);
        write_record(bytes.data() + at, next, changes);
        next = next_sequence(next);
    }
};

std::vector<table_entry> table_of(u64 pages) {
    std::vector<table_entry> table;
    for (u64 i = 0; i < pages; ++i) table.push_back(entry_for(100 + i, 2 * i, 2 * i + 1));
    return table;
}

TEST(replay, applies_all_whole_records_in_order) {
    written_journal journal(max_sequence);
    journal.add({{0, 0b11, 0b11}, {1, 0b1, 0b1}});
    journal.add({{0, 0b10, 0}});
    auto table = table_of(2);
    const replayed done = replay_into(table, journal.bytes, max_sequence);
    EXPECT_EQ(done.records, 2U);
    EXPECT_EQ(done.changes, 3U);
    EXPECT_EQ(done.next_sequence, 2U) << "after the last number comes 1";
    EXPECT_EQ(done.bytes, 128U);
    EXPECT_EQ(done.unknown, 0U);
    EXPECT_EQ(table[0].committed, 0b01U);
    EXPECT_EQ(table[1].committed, 0b1U);
}

TEST(replay, ends_at_the_first_record_that_is_not_whole) {
    written_journal journal(1);
    journal.add({{0, 1, 1}});
    journal.add({{0, 2, 2}});
    journal.add({{0, 4, 4}});
    journal.bytes[64 + 20] ^= std::byte{1};
    auto table = table_of(1);
    EXPECT_EQ(replay_into(table, journal.bytes, 1).records, 1U);
    EXPECT_EQ(table[0].committed, 1U);
}

TEST(replay, of_an_older_journal_finds_nothing) {
    written_journal journal(1);
    journal.add({{0, 1, 1}});
    auto table = table_of(1);
    EXPECT_EQ(replay_into(table, journal.bytes, 2).records, 0U);
    EXPECT_EQ(table, table_of(1));
}

TEST(replay, counts_changes_of_entries_that_are_not_there) {
    written_journal journal(1);
    journal.add({{0, 1, 1}, {5, 1, 1}, {1, 1, 1}});
    auto table = table_of(2);
    table[1] = {};
    const replayed done = replay_into(table, journal.bytes, 1);
    EXPECT_EQ(done.unknown, 2U);
    EXPECT_EQ(table[0].committed, 1U);
    EXPECT_EQ(table[1], table_entry{});
}

TEST(replay, changes_no_entry_past_the_table) {
    written_journal journal(1);
    journal.add({{2, 1, 1}});
    auto entries = table_of(3);
    const auto before = entries;
    EXPECT_EQ(replay_into(std::span(entries).first(2), journal.bytes, 1).unknown, 1U);
    EXPECT_EQ(entries, before);
}

RC_GTEST_PROP(replay, twice_is_replay_once, (std::vector<std::tuple<u8, u64, u64>> drawn)) {
    written_journal journal(1);
    for (const auto& [page, mask, value] : drawn) {
        journal.add({{page % 4U, mask, mask & value}, {(page + 1U) % 4, value, value & ~mask}});
    }
    auto once = table_of(4);
    replay_into(once, journal.bytes, 1);
    auto twice = once;
    RC_ASSERT(replay_into(twice, journal.bytes, 1).records == drawn.size());
    RC_ASSERT(once == twice);
}

TEST(table_entry, names_the_slot_of_each_committed_line) {
    table_entry e = entry_for(3, 10, 11);
    EXPECT_TRUE(e.is_used());
    EXPECT_EQ(e.page(), 3U);
    EXPECT_EQ(e.committed_in(0), 10U);
    e.apply({0, only(63), only(63)});
    EXPECT_EQ(e.committed_in(63), 11U);
    EXPECT_EQ(e.committed_in(62), 10U);
    EXPECT_FALSE(table_entry{}.is_used());
}

TEST(table_entry, of_page_zero_is_used) { EXPECT_TRUE(entry_for(0, 0, 1).is_used()); }

TEST(table_entry, with_impossible_slots_is_not_sane) {
    EXPECT_TRUE(entry_for(3, 10, 11).is_sane(12));
    EXPECT_FALSE(entry_for(3, 10, 11).is_sane(11));
    EXPECT_FALSE(entry_for(3, 12, 11).is_sane(12));
    EXPECT_FALSE(entry_for(3, 10, 10).is_sane(12));
    EXPECT_TRUE(table_entry{}.is_sane(0)) << "a free one";
}

TEST(for_each_slot, visits_both_slots_of_used_entries) {
    auto table = table_of(3);
    table[1] = {};
    std::multiset<u64> found;
    for_each_slot(std::span<const table_entry>(table), [&](u64 p) { found.insert(p); });
    EXPECT_EQ(found, (std::multiset<u64>{0, 1, 4, 5}));
}

}  // namespace
}  // namespace hf::shadow
