#include "clht_fixture.hpp"
#include "index/common/index_audit.hpp"
#include "index/common/index_states.hpp"
#include "index/common/index_store.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_store, ::testing::Types<clht_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_audits, ::testing::Types<clht_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_states, ::testing::Types<clht_family>);

class clht_store : public on_tmpfs {};
using numbers = clht_family::numbers_in_file;
using cost = std::pair<u64, u64>;

// Numbers that a table may take for "no key".
TEST_F(clht_store, has_the_keys_zero_and_one_and_the_largest) {
    numbers t(file);
    for (u64 k : {u64{0}, u64{1}, ~u64{0}}) EXPECT_TRUE(t.insert(k, k + 5));
    t.open_again();
    for (u64 k : {u64{0}, u64{1}, ~u64{0}}) EXPECT_EQ(t.get(k), k + 5);
    EXPECT_TRUE(t.remove(0));
    EXPECT_EQ(t.get(0), std::nullopt);
    EXPECT_EQ(t.get(1), 6);
}

TEST_F(clht_store, grows_bucket_by_bucket_and_loses_nothing) {
    numbers t(file);
    constexpr u64 keys = 5000;
    for (u64 k = 0; k < keys; ++k) ASSERT_TRUE(t.insert(k * 7, k));
    EXPECT_GE(t.index->level(), 10U);
    numbers::entries wanted;
    for (u64 k = 0; k < keys; ++k) {
        ASSERT_EQ(t.get(k * 7), k);
        wanted.emplace_back(k * 7, k);
    }
    EXPECT_EQ(t.all(), wanted);
    t.expect_sound();
}

// Without growth: a bucket's line, and that of a record before it.
TEST_F(clht_store, operations_flush_and_fence_as_often_as_they_say) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    numbers t(file);
    t.insert(1, 1);
    EXPECT_EQ(cost_of([&] { t.insert(2, 2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.update(2, 3); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.remove(2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(1); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(1, 3); }), cost(0, 0));
    clht_family::bytes_in_file strings(dir / "strings.hf");
    strings.insert("a", "1");
    EXPECT_EQ(cost_of([&] { strings.insert("b", "2"); }), cost(2, 2));
}

TEST_F(clht_store, runs_as_the_yardstick_without_a_flush) {
    clht_family::transient_numbers t;
    const cost total = cost_of([&] {
        for (u64 k = 0; k < 100; ++k) ASSERT_TRUE(t.insert(k, k));
        for (u64 k = 0; k < 100; ++k) ASSERT_EQ(t.get(k), k);
    });
    EXPECT_LE(total.second, 40U);  // runs of pages, which the heap makes
    t.expect_sound();
}

// A number lies in the line that publishes it.
TEST_F(clht_store, a_batch_waits_twice_and_of_numbers_once) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    numbers t(file);
    EXPECT_EQ(fences_of_batch(t, 100, batch_entries), 1U);
    clht_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_EQ(fences_of_batch(strings, 100, batch_entries), 2U);
}

}  // namespace
}  // namespace hf::test
