// An acquire finds the releases that happen before it.
#include "section/graph/lock_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hf::graph {
namespace {

struct found {
    std::vector<section_id> sections;
    u64 clock = 0;
};

class lock_table_of_one_lock : public ::testing::Test {
   protected:
    found acquire(access how) {
        found f;
        f.clock = table.acquire(&lock, how, f.sections);
        std::sort(f.sections.begin(), f.sections.end(),
                  [](const auto& a, const auto& b) { return a.lane < b.lane; });
        return f;
    }
    using list = std::vector<section_id>;

    char lock = 0;
    lock_table table;
};

TEST_F(lock_table_of_one_lock, gives_nothing_before_the_first_release) {
    EXPECT_TRUE(acquire(access::exclusive).sections.empty());
    EXPECT_EQ(acquire(access::exclusive).clock, 0U);
}

TEST_F(lock_table_of_one_lock, gives_the_last_exclusive_release_only) {
    table.release(&lock, access::exclusive, {1, 5}, 10);
    table.release(&lock, access::exclusive, {2, 7}, 11);
    EXPECT_EQ(acquire(access::exclusive).sections, (list{{2, 7}}));
    EXPECT_EQ(acquire(access::shared).sections, (list{{2, 7}}));
    EXPECT_EQ(acquire(access::shared).clock, 11U);
}

TEST_F(lock_table_of_one_lock, gives_a_writer_all_readers_and_a_reader_none_of_them) {
    table.release(&lock, access::exclusive, {1, 1}, 1);
    table.release(&lock, access::shared, {2, 1}, 9);
    table.release(&lock, access::shared, {3, 4}, 3);
    table.release(&lock, access::shared, {2, 2}, 4);
    EXPECT_EQ(acquire(access::shared).sections, (list{{1, 1}}));
    EXPECT_EQ(acquire(access::exclusive).sections, (list{{1, 1}, {2, 2}, {3, 4}}));
    EXPECT_EQ(acquire(access::exclusive).clock, 9U);
}

TEST_F(lock_table_of_one_lock, drops_readers_after_an_exclusive_release) {
    table.release(&lock, access::shared, {2, 1}, 9);
    table.release(&lock, access::exclusive, {1, 1}, 10);
    EXPECT_EQ(acquire(access::exclusive).sections, (list{{1, 1}}));
}

TEST_F(lock_table_of_one_lock, forgets_a_lock_that_was_destroyed) {
    table.release(&lock, access::exclusive, {1, 1}, 1);
    table.forget(&lock);
    EXPECT_TRUE(acquire(access::exclusive).sections.empty());
    EXPECT_EQ(table.size(), 0U);
}

TEST_F(lock_table_of_one_lock, drops_entries_only_if_all_their_sections_are_stable) {
    char other = 0;
    table.release(&lock, access::exclusive, {1, 1}, 1);
    table.release(&lock, access::shared, {2, 2}, 1);
    table.release(&other, access::exclusive, {1, 1}, 1);
    table.drop_stable([](const section_id& id) { return id.number < 2; });
    EXPECT_EQ(table.size(), 1U);
    EXPECT_EQ(acquire(access::exclusive).sections.size(), 2U);
    table.drop_stable([](const section_id&) { return true; });
    EXPECT_EQ(table.size(), 0U);
}

TEST(lock_table, keeps_many_locks_apart) {
    lock_table table;
    std::vector<char> locks(1000);
    for (u64 i = 0; i < locks.size(); ++i) {
        table.release(&locks[i], access::exclusive, {1, i + 1}, i);
    }
    EXPECT_EQ(table.size(), locks.size());
    for (u64 i = 0; i < locks.size(); ++i) {
        std::vector<section_id> into;
        EXPECT_EQ(table.acquire(&locks[i], access::exclusive, into), i);
        EXPECT_EQ(into, (std::vector<section_id>{{1, i + 1}}));
    }
}

}  // namespace
}  // namespace hf::graph
