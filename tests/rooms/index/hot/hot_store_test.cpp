#include "hot_fixture.hpp"
#include "index/common/index_audit.hpp"
#include "index/common/index_states.hpp"
#include "index/common/index_store.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_store, ::testing::Types<hot_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_audits, ::testing::Types<hot_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(hot, index_states, ::testing::Types<hot_family>);

class hot_store : public on_tmpfs {};
using numbers = hot_family::numbers_in_file;

// The cost of operations that copy one node: the node's lines, the record's, and the word's.
TEST_F(hot_store, operations_use_the_documented_number_of_flushes_and_fences) {
    numbers t(file);
    for (u64 k = 0; k < 14; ++k) t.insert(k, k);
    using cost = std::pair<u64, u64>;
    EXPECT_EQ(cost_of([&] { t.insert(14, 1); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { t.update(14, 2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.remove(14); }), cost(1, 2));
    // 15 entries with 4 bits: a header of 16 bytes, 15 keys and 15 words are 3 lines.
    EXPECT_EQ(streamed_by([&] { t.insert(14, 1); }), 3 * line_size);
    EXPECT_EQ(streamed_by([&] { t.remove(14); }), 3 * line_size);
    EXPECT_EQ(streamed_by([&] { t.update(13, 2); }), 0U);
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(13); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(14); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.scan(0, 100); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(5, 1); }), cost(0, 0));
}

TEST_F(hot_store, batch_uses_two_fences) {
    numbers t(file);
    EXPECT_EQ(fences_of_batch(t, 100, batch_entries), 2U);
    hot_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_EQ(fences_of_batch(strings, 100, batch_entries), 2U);
}

// A remove needs no memory. Dead records are neither found nor scanned, can be inserted again, and
// are dropped at the next copy.
TEST_F(hot_store, remove_succeeds_without_memory_for_a_copy) {
    numbers t(file, u64{3} << 20);
    u64 n = 0;
    const auto insert = [&](u64 k) {
        eager_discipline::operation op(*t.space);
        return t.index->insert(op, k * 7919, k).has_value();
    };
    while (insert(n)) ++n;
    for (u64 k = 0; k < n; k += 2) ASSERT_TRUE(t.remove(k * 7919));
    for (u64 k = 0; k < n; ++k) ASSERT_EQ(t.get(k * 7919).has_value(), k % 2 == 1) << k;
    EXPECT_EQ(t.all().size(), n / 2);
    t.expect_sound();
    t.open_again();
    EXPECT_EQ(t.all().size(), n / 2);
    u64 again = 0;
    for (u64 k = 0; k < n; k += 2) again += insert(k) ? 1 : 0;
    EXPECT_GT(again, n / 8);
    EXPECT_EQ(t.all().size(), n / 2 + again);
    t.expect_sound();
}

// An empty word must not lead to a key: its offset 0 is that of the region's header.
TEST_F(hot_store, empty_word_is_not_read_as_a_record_in_the_header) {
    numbers t(file);
    for (u64 at = 0; at < 2 * line_size; at += sizeof(u64)) {
        const u64 k = *t.space->file().at<u64>(at);
        EXPECT_FALSE(t.get(k)) << at;
        EXPECT_FALSE(t.update(k, 1)) << at;
        EXPECT_TRUE(t.insert(k, 1)) << at;
        EXPECT_TRUE(t.remove(k)) << at;
    }
}

// Bulk load into an empty index.
TEST_F(hot_store, bulk_load_uses_few_fences) {
    constexpr u64 batches = 100;
    numbers t(file);
    EXPECT_LE(cost_of_load(t, batches * batch_entries).second, 3 * batches);
    hot_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_LE(cost_of_load(strings, batches * batch_entries).second, 3 * batches);
}

}  // namespace
}  // namespace hf::test
