// Every transition of a version lock's word, by one thread.
#include "sync/version_lock.hpp"

#include <gtest/gtest.h>

namespace hf {
namespace {

constexpr u64 now = version_lock::generation_bits(7);
constexpr u64 before = version_lock::generation_bits(6);
constexpr u64 flag_a = 8;
constexpr u64 flag_b = 128;
constexpr u64 flag_bits = flag_a | flag_b;

/// A spin limit that is reached.
struct impatient {
    unsigned left;
    void wait() {
        if (left-- == 0) throw 1;
    }
};

class a_version_lock : public ::testing::Test {
   protected:
    a_version_lock() { lock.init(flag_a, now); }

    u64 insert() {
        lock.lock(now);
        lock.mark_inserting();
        lock.unlock();
        return lock.load();
    }
    u64 split() {
        lock.lock(now);
        lock.mark_splitting();
        lock.unlock();
        return lock.load();
    }
    /// As a crash left it: locked by a process of the generation before.
    void die_with(bool inserting, bool splitting) {
        lock.init(flag_a, before);
        lock.lock(before);
        if (inserting) lock.mark_inserting();
        if (splitting) lock.mark_splitting();
    }

    version_lock lock;
};

TEST_F(a_version_lock, begins_unlocked_with_its_flags) {
    EXPECT_EQ(lock.load(), now | flag_a);
    EXPECT_EQ(lock.stable(now), now | flag_a);
    EXPECT_FALSE(lock.is_held(now));
}

TEST_F(a_version_lock, is_held_from_lock_to_unlock_and_by_one) {
    EXPECT_FALSE(lock.lock(now));
    EXPECT_TRUE(lock.is_held(now));
    EXPECT_FALSE(lock.try_lock(now));
    lock.unlock();
    EXPECT_FALSE(lock.is_held(now));
    EXPECT_TRUE(lock.try_lock(now));
    EXPECT_TRUE(lock.is_held(now));
}

TEST_F(a_version_lock, locked_without_a_mark_disturbs_no_reader) {
    const u64 seen = lock.stable(now);
    lock.lock(now);
    EXPECT_FALSE(lock.changed(seen));
    EXPECT_EQ(lock.stable(now), lock.load());
    lock.unlock();
    EXPECT_FALSE(lock.changed(seen));
}

TEST_F(a_version_lock, tells_a_reader_of_an_insertion_while_and_after) {
    const u64 seen = lock.stable(now);
    lock.lock(now);
    lock.mark_inserting();
    EXPECT_TRUE(lock.changed(seen));
    lock.unlock();
    EXPECT_TRUE(lock.changed(seen));
    EXPECT_FALSE(version_lock::split_since(seen, lock.load()));
    EXPECT_EQ(lock.load() & version_lock::marks, 0U);
    EXPECT_FALSE(lock.changed(lock.stable(now)));
}

TEST_F(a_version_lock, tells_a_reader_of_a_split_while_and_after) {
    const u64 seen = lock.stable(now);
    lock.lock(now);
    lock.mark_splitting();
    EXPECT_TRUE(lock.changed(seen));
    lock.unlock();
    EXPECT_TRUE(lock.changed(seen));
    EXPECT_TRUE(version_lock::split_since(seen, lock.load()));
    EXPECT_EQ(lock.load() & version_lock::marks, 0U);
}

TEST_F(a_version_lock, counts_a_change_with_both_marks_as_a_split) {
    const u64 seen = lock.stable(now);
    lock.lock(now);
    lock.mark_inserting();
    lock.mark_splitting();
    lock.unlock();
    EXPECT_TRUE(version_lock::split_since(seen, lock.load()));
    EXPECT_EQ(lock.load() & version_lock::insert_field, seen & version_lock::insert_field);
}

TEST_F(a_version_lock, tells_of_flags_that_have_turned) {
    const u64 seen = lock.stable(now);
    lock.lock(now);
    lock.set_flags(flag_b, true);
    EXPECT_EQ(lock.load() & flag_bits, flag_bits);
    lock.unlock();
    EXPECT_TRUE(lock.changed(seen));
    EXPECT_TRUE(version_lock::split_since(seen, lock.load()));
    lock.lock(now);
    lock.set_flags(flag_b, false);
    lock.unlock();
    EXPECT_EQ(lock.load(), seen);
}

TEST_F(a_version_lock, keeps_a_flag_that_was_set_with_a_mark) {
    lock.lock(now);
    lock.mark_splitting_with(flag_b);
    EXPECT_NE(lock.load() & version_lock::splitting, 0U);
    lock.unlock();
    EXPECT_EQ(lock.load() & (flag_bits | version_lock::marks), flag_bits);
}

TEST_F(a_version_lock, counts_insertions_round_without_touching_anything_else) {
    const u64 first = lock.load();
    constexpr u64 round = u64{1} << 18;
    for (u64 i = 1; i < round; ++i) {
        ASSERT_TRUE(((insert() ^ first) & ~version_lock::insert_field) == 0);
    }
    EXPECT_EQ(lock.load() & version_lock::insert_field, version_lock::insert_field);
    EXPECT_TRUE(lock.changed(first));
    EXPECT_EQ(insert(), first);
    EXPECT_FALSE(lock.changed(first));
}

TEST_F(a_version_lock, counts_splits_round_without_touching_anything_else) {
    const u64 first = insert();
    constexpr u64 round = u64{1} << 18;
    for (u64 i = 1; i < round; ++i) {
        ASSERT_TRUE(((split() ^ first) & ~version_lock::split_field) == 0);
    }
    EXPECT_EQ(lock.load() & version_lock::split_field, version_lock::split_field);
    EXPECT_TRUE(version_lock::split_since(first, lock.load()));
    EXPECT_EQ(split(), first);
}

TEST_F(a_version_lock, is_taken_over_from_a_dead_holder_who_leaves_no_mark) {
    for (const bool inserting : {false, true}) {
        for (const bool splitting : {false, true}) {
            die_with(inserting, splitting);
            EXPECT_FALSE(lock.is_held(now));
            EXPECT_TRUE(lock.lock(now)) << "taken over";
            EXPECT_EQ(lock.load(), now | flag_a | version_lock::locked);
            lock.unlock();
            EXPECT_EQ(lock.load(), now | flag_a);

            die_with(inserting, splitting);
            EXPECT_TRUE(lock.try_lock(now));
            EXPECT_EQ(lock.load(), now | flag_a | version_lock::locked);
        }
    }
}

TEST_F(a_version_lock, that_a_dead_process_left_free_is_not_taken_over) {
    lock.init(flag_a, before);
    EXPECT_FALSE(lock.lock(now));
    EXPECT_TRUE(lock.is_held(now));
    EXPECT_FALSE(lock.is_held(before));
}

TEST_F(a_version_lock, is_cleared_of_a_dead_holders_marks_by_the_first_reader) {
    die_with(true, false);
    EXPECT_EQ(lock.stable(now), now | flag_a);
    EXPECT_EQ(lock.load(), now | flag_a);
    die_with(false, true);
    EXPECT_EQ(lock.stable(now), now | flag_a);
}

TEST_F(a_version_lock, is_not_written_by_a_reader_if_it_has_no_mark) {
    die_with(false, false);
    const u64 left = lock.load();
    EXPECT_EQ(lock.stable(now), left);
    EXPECT_EQ(lock.load(), left);
    lock.init(flag_a, before);
    EXPECT_EQ(lock.stable(now), before | flag_a);
    EXPECT_EQ(lock.load(), before | flag_a);
}

/// Every sort of word: locked or not, with marks or without, of this generation or another, with
/// counters at their ends and in between.
template <class Check>
void for_each_word(Check check) {
    for (const u64 generation : {now, before, version_lock::generation_bits(8)}) {
        for (u64 low = 0; low < 8; ++low) {
            for (const u64 flags : {u64{0}, flag_a, flag_bits, version_lock::flags}) {
                for (const u64 inserts : {u64{0}, u64{1}, (u64{1} << 18) - 1}) {
                    for (const u64 splits : {u64{0}, u64{1}, (u64{1} << 18) - 1}) {
                        check(generation | low | flags | inserts << version_lock::insert_shift |
                                  splits << version_lock::split_shift,
                              generation);
                    }
                }
            }
        }
    }
}

TEST_F(a_version_lock, follows_the_rules_from_every_word) {
    constexpr u64 locked = version_lock::locked;
    constexpr u64 marks = version_lock::marks;
    constexpr u64 generations = version_lock::generation_field;
    for_each_word([&](u64 word, u64 generation) {
        SCOPED_TRACE(word);
        const u64 rest = word & ~(locked | marks | generations);
        const bool mine = generation == now;
        const bool is_locked = (word & locked) != 0;
        const auto become = [&] { lock.init(word & ~generations, generation); };
        become();
        ASSERT_EQ(lock.load(), word);
        EXPECT_EQ(version_lock::is_held(word, now), is_locked && mine);
        EXPECT_EQ(lock.is_held(now), is_locked && mine);
        EXPECT_EQ(lock.try_lock(now), !(is_locked && mine));
        EXPECT_EQ(lock.load(), is_locked && mine ? word : now | rest | locked);
        if (!(is_locked && mine)) {
            become();
            EXPECT_EQ(lock.lock(now), is_locked) << "taken over, or not";
            EXPECT_EQ(lock.load(), now | rest | locked);
        }
        const bool is_marked = (word & marks) != 0;
        if (!is_marked || !mine) {  // otherwise a reader waits
            become();
            EXPECT_EQ(lock.stable(now), is_marked ? now | rest : word);
            EXPECT_EQ(lock.load(), is_marked ? now | rest : word);
        }
        become();
        lock.unlock();
        const u64 splits = word & version_lock::split_field;
        const u64 inserts = word & version_lock::insert_field;
        const auto next = [](u64 count, u64 field) {
            return count == field ? 0 : count + (field & (~field + 1));
        };
        u64 after = rest & version_lock::flags;
        const bool splitting = (word & version_lock::splitting) != 0;
        const bool inserting = (word & version_lock::inserting) != 0;
        after |= splitting ? next(splits, version_lock::split_field) : splits;
        after |= inserting && !splitting ? next(inserts, version_lock::insert_field) : inserts;
        EXPECT_EQ(lock.load(), generation | after);
        EXPECT_EQ(lock.changed(word), is_marked) << "its own marks, or what they have counted";
    });
}

TEST_F(a_version_lock, tells_two_words_apart_by_all_but_lock_and_generation) {
    lock.init(flag_a, now);
    const u64 word = lock.load();
    for (unsigned bit = 0; bit < 64; ++bit) {
        const u64 other = word ^ u64 { 1 } << bit;
        EXPECT_EQ(lock.changed(other), bit != 0 && bit < 44) << bit;
        const bool is_split = (bit >= 3 && bit < 8) || (bit >= 26 && bit < 44);
        EXPECT_EQ(version_lock::split_since(word, other), is_split) << bit;
    }
}

TEST_F(a_version_lock, may_be_locked_in_a_new_generation_under_a_reader) {
    lock.init(flag_a, before);
    const u64 seen = lock.stable(now);
    lock.lock(now);
    lock.unlock();
    EXPECT_FALSE(lock.changed(seen));
}

TEST_F(a_version_lock, knows_the_last_generation_before_they_go_round) {
    const u64 last = version_lock::generation_bits((u64{1} << 20) - 1);
    const u64 first = version_lock::generation_bits(u64{1} << 20);
    EXPECT_EQ(first, 0U);
    lock.init(0, last);
    lock.lock(last);
    EXPECT_TRUE(lock.is_held(last));
    EXPECT_TRUE(lock.lock(first)) << "taken over";
    EXPECT_TRUE(lock.is_held(first));
}

TEST_F(a_version_lock, is_waited_for_as_long_as_the_waiter_likes) {
    lock.lock(now);
    EXPECT_THROW(lock.lock(now, [] { return impatient{3}; }), int);
    EXPECT_EQ(lock.stable(now, [] { return impatient{0}; }), lock.load()) << "not marked";
    lock.mark_inserting();
    EXPECT_THROW((void)lock.stable(now, [] { return impatient{3}; }), int);
    lock.unlock();
    EXPECT_FALSE(lock.lock(now, [] { return impatient{0}; }));
}

TEST_F(a_version_lock, of_a_generation_to_come_is_told) {
    constexpr u64 one = version_lock::generation_bits(1);
    lock.init(flag_a, now + one);
    EXPECT_FALSE(version_lock::is_of_future(lock.load(), now)) << "nobody's";
    lock.lock(now + one);
    EXPECT_TRUE(version_lock::is_of_future(lock.load(), now));
    EXPECT_FALSE(version_lock::is_of_future(lock.load(), now + one));
    EXPECT_FALSE(version_lock::is_of_future(lock.load(), now + 2 * one));
    EXPECT_TRUE(version_lock::is_of_future(one | version_lock::inserting, 0)) << "it goes round";
    EXPECT_FALSE(version_lock::is_of_future((0 - one) | version_lock::splitting, 0));
}

}  // namespace
}  // namespace hf
