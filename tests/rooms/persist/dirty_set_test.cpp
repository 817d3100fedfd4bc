// The set of dirty lines: a line that was added comes back once, in order.
#include "persist/dirty_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

namespace hf::test {

namespace {

constexpr u64 max_bytes = u64{1} << 40;

/// Addresses are only counted with: nothing needs to be there.
const std::byte* address(u64 line) { return reinterpret_cast<const std::byte*>(line * line_size); }

std::vector<u64> taken(dirty_set& set) {
    std::vector<u64> lines(7, 42);  // what was there before does not matter
    set.take(lines);
    return lines;
}

}  // namespace

TEST(dirty_set, gives_back_what_was_noted_in_order) {
    std::mt19937_64 random(1);
    dirty_set set(nullptr, max_bytes);
    for (const u64 count : {u64{0}, u64{1}, u64{1000}, u64{50'000}}) {
        for (const unsigned range_bits : {10U, 16U, 24U, 34U}) {
            const u64 range = u64{1} << range_bits;
            std::vector<u64> mixed(std::min(count, range));
            for (u64& line : mixed) line = random() % range;
            set.note_lines(mixed);
            const std::set<u64> wanted(mixed.begin(), mixed.end());
            EXPECT_EQ(set.size(), wanted.size());
            EXPECT_EQ(taken(set), std::vector<u64>(wanted.begin(), wanted.end()))
                << count << " lines below " << range;
            EXPECT_TRUE(set.empty());
            EXPECT_TRUE(taken(set).empty());
        }
    }
}

TEST(dirty_set, notes_each_line_that_bytes_touch) {
    dirty_set set(nullptr, max_bytes);
    set.note(address(5) + 60, 8);
    set.note(address(5), 1);
    set.note(address(9), 0);
    set.note(address(62) + 63, 2 * line_size);
    EXPECT_EQ(taken(set), (std::vector<u64>{5, 6, 62, 63, 64}));
}

TEST(dirty_set, knows_the_last_line_and_none_beyond) {
    constexpr u64 lines = 1000 * 64;
    dirty_set set(nullptr, lines * line_size);
    set.note(address(lines - 1), line_size);
    EXPECT_EQ(taken(set), std::vector<u64>{lines - 1});
    EXPECT_DEATH(set.note(address(lines), 1), "outside of the region");
}

TEST(dirty_set, asks_for_a_checkpoint_when_it_is_large) {
    dirty_set set(nullptr, max_bytes);
    set.set_limit(4);
    const std::array<u64, 17> lines{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 700};
    set.collect(std::span(lines).first(4));
    EXPECT_FALSE(set.pressure());
    set.collect(std::span(lines).first(5));
    EXPECT_TRUE(set.pressure());
    EXPECT_FALSE(set.is_overfull());
    set.collect(lines);
    EXPECT_FALSE(set.is_overfull());  // beyond four times only
    for (u64 line = 100; line < 120; ++line) set.collect({&line, 1});
    EXPECT_TRUE(set.is_overfull());
    EXPECT_EQ(taken(set).size(), 37U);
    EXPECT_FALSE(set.pressure());
}

}  // namespace hf::test
