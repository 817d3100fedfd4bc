#include "eager_masstree_fixture.hpp"
#include "index/common/index_audit.hpp"
#include "index/common/index_states.hpp"
#include "index/common/index_store.hpp"

namespace hf::test {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(eager_masstree, index_store,
                               ::testing::Types<eager_masstree_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(eager_masstree, index_audits,
                               ::testing::Types<eager_masstree_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(eager_masstree, index_states,
                               ::testing::Types<eager_masstree_family>);

class eager_masstree_store : public on_tmpfs {};

// A pair in a line of its own and the order word; one line and one fence if both are in one line.
TEST_F(eager_masstree_store, operations_use_the_documented_number_of_flushes_and_fences) {
    eager_masstree_family::numbers_in_file t(file);
    using cost = std::pair<u64, u64>;
    EXPECT_EQ(cost_of([&] { t.insert(0, 1); }), cost(1, 1));
    for (u64 k = 1; k < 8; ++k) t.insert(k, k);
    EXPECT_EQ(cost_of([&] { t.insert(8, 1); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { t.update(8, 2); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.remove(8); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(7); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(8); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.scan(0, 100); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(5, 1); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.remove(100); }), cost(0, 0));
}

// Otherwise a key would be stored in a pair that the order word does not refer to, and not be
// found.
TEST(eager_masstree_nodes, free_slot_is_among_the_free_ranks_even_if_the_order_is_damaged) {
    using namespace eager_masstree_detail;
    for (unsigned size = 0; size < width; ++size) {
        for (unsigned bit = 4; bit < 64; ++bit) {
            const order_word o(node::fresh_order(size).word() ^ u64{1} << bit);
            const unsigned slot = node::free_slot(o);
            for (unsigned rank = 0; slot < width && rank <= size; ++rank) {
                ASSERT_EQ(o.inserted(rank, slot).slot(rank), slot) << size << ", bit " << bit;
            }
        }
    }
}

// In a right half, the two pairs in the order word's line are free.
TEST_F(eager_masstree_store, first_two_inserts_after_a_split_flush_one_line_each) {
    eager_masstree_family::numbers_in_file t(file);
    using cost = std::pair<u64, u64>;
    for (u64 k = 0; k < 28; k += 2) t.insert(k, k);
    t.insert(1, 1);  // splits 14 keys in the middle
    EXPECT_EQ(cost_of([&] { t.insert(15, 1); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.insert(17, 1); }), cost(1, 1));
    EXPECT_EQ(cost_of([&] { t.insert(19, 1); }), cost(2, 2));
}

/// Fences of a batch of keys that were inserted and removed before, between others that remain.
template <class Tree>
u64 fences_among_others(Tree& t) {
    using kept = typename Tree::kept;
    typename Tree::entries all;
    for (u64 n = 0; n < 100; ++n) {
        kept k{};
        if constexpr (std::is_same_v<kept, u64>) {
            k = n;
        } else {
            k = std::string(1, static_cast<char>(n));
        }
        t.insert(k, k);
        if (n % 3 != 0 && all.size() < batch_entries) all.emplace_back(k, k);
    }
    for (const auto& e : all) t.remove(e.first);
    return cost_of([&] { EXPECT_EQ(t.insert_many(all), batch_entries); }).second;
}

// Splits of full leaves in a batch have additional fences.
TEST_F(eager_masstree_store, batch_uses_two_fences_if_leaves_have_room) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    eager_masstree_family::numbers_in_file t(file);
    EXPECT_EQ(fences_among_others(t), 2U);
    eager_masstree_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_EQ(fences_among_others(strings), 2U);
}

// The separator's line and the neighbour's line, each with a fence.
TEST_F(eager_masstree_store, unlinking_a_leaf_flushes_two_more_lines) {
    eager_masstree_family::numbers_in_file t(file);
    for (u64 k = 0; k < 40; ++k) t.insert(k, k);
    for (u64 k = 13; k < 25; ++k)
        EXPECT_EQ(cost_of([&] { t.remove(k); }), std::pair(u64{1}, u64{1}));
    EXPECT_EQ(cost_of([&] { t.remove(25); }), std::pair(u64{3}, u64{3}));
}

// Each split makes room for about seven keys.
TEST_F(eager_masstree_store, batch_of_adjacent_keys_splits_few_times) {
    if (best_flush_instruction() == flush_instruction::none) GTEST_SKIP();
    eager_masstree_family::numbers_in_file t(file);
    constexpr u64 many = 10 * batch_entries;
    EXPECT_LT(fences_of_batch(t, 0, many), many * 3 / 2) << "most are those of splits";
}

// Bulk load into an empty index. Most fences are those of splits.
TEST_F(eager_masstree_store, bulk_load_uses_few_fences) {
    constexpr u64 batches = 100;
    eager_masstree_family::numbers_in_file t(file);
    EXPECT_LE(cost_of_load(t, batches * batch_entries).second, 48 * batches);
    eager_masstree_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_LE(cost_of_load(strings, batches * batch_entries).second, 48 * batches);
}

}  // namespace
}  // namespace hf::test
