// The map from lines to their private copies: it finds every line that was added, and no other.
#include "transaction/write_set.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace hf::test {

/// Lines that meet in a table, and lines that do not.
constexpr u64 strides[] = {1, 64, u64{1} << 17, u64{1} << 40};

TEST(write_set, finds_what_was_added_with_its_words_however_many_there_are) {
    for (const u64 stride : strides) {
        write_set set;
        for (u64 i = 0; i < 5000; ++i) {
            written_line& added = set.add(i * stride);
            EXPECT_EQ(added.mask, 0) << "nothing was stored to it";
            added.mask = 1;
            added.words[0] = i;
            // A look between, so that some are in the table and some are not.
            if (i % 7 == 0) {
                EXPECT_EQ(set.find((i + 1) * stride), nullptr);
            }
        }
        ASSERT_EQ(set.lines().size(), 5000U);
        for (u64 i = 0; i < 5000; ++i) {
            const written_line* const found = set.find(i * stride);
            ASSERT_NE(found, nullptr) << i << " of " << stride;
            EXPECT_EQ(found->words[0], i);
            EXPECT_EQ(set.lines()[i].line, i * stride) << "in the order of their first stores";
        }
        EXPECT_EQ(set.find(5000 * stride), nullptr);
    }
}

TEST(write_set, knows_the_last_one) {
    write_set set;
    EXPECT_EQ(set.last(1), nullptr);
    written_line& one = set.add(1);
    EXPECT_EQ(set.last(1), &one);
    EXPECT_EQ(set.last(2), nullptr);
    (void)set.add(2);
    EXPECT_EQ(set.last(1), nullptr);
    EXPECT_EQ(set.find(1), &set.lines()[0]);
    EXPECT_EQ(set.last(1), &set.lines()[0]);
}

TEST(write_set, forgets_all_with_the_transaction_whether_they_were_looked_for_or_not) {
    write_set set;
    for (const u64 lines : std::initializer_list<u64>{1, 3, 4000, 2, 700, 0, 33}) {
        for (const bool looks : {false, true}) {
            EXPECT_TRUE(set.empty());
            EXPECT_EQ(set.last(0), nullptr);
            for (u64 i = 0; i < lines; ++i) {
                ASSERT_EQ(set.find(looks ? i : 0) != nullptr, !looks && i != 0) << lines;
                (void)set.add(i);
            }
            if (lines != 0) {
                EXPECT_NE(set.find(lines - 1), nullptr);
            }
            EXPECT_EQ(set.find(lines), nullptr);
            set.clear();
            EXPECT_EQ(set.find(0), nullptr);
        }
        for (u64 i = 0; i < lines; ++i) (void)set.add(i);
        set.clear();  // without a look
    }
}

// A line of a past transaction, whose slot was not used since, must not be found when the stamp of
// that transaction comes again.
TEST(write_set, finds_no_line_of_a_past_transaction_when_stamps_wrap_around) {
    for (const u64 gap : {u64{1}, u64{254}, u64{255}, u64{256}, u64{510}}) {
        stamped_write_set<u8> set;
        for (u64 round = 0; round < 600; ++round) {
            if (round % gap == 0) {
                for (u64 line = 1; line <= 20; ++line) (void)set.add(line);
                ASSERT_NE(set.find(1), nullptr);
            } else {
                (void)set.add(1000);
                ASSERT_NE(set.find(1000), nullptr);
                for (u64 line = 1; line <= 20; ++line) {
                    ASSERT_EQ(set.find(line), nullptr) << line << " in round " << round;
                }
            }
            set.clear();
        }
    }
}

TEST(write_set, has_room_until_memory_is_asked_for) {
    write_set set;
    u64 i = 0;
    for (; set.has_room(); ++i) (void)set.add(i);
    const written_line* const before = set.lines().data();
    EXPECT_GT(i, 8U);
    (void)set.add(i);
    EXPECT_NE(set.lines().data(), before);
    EXPECT_TRUE(set.has_room());
}

}  // namespace hf::test
