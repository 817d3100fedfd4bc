// The number of nodes of a tree after loads, and after its keys were removed.
#include "base/random.hpp"
#include "eager_masstree_fixture.hpp"
#include "support/effort.hpp"

#include <numeric>

namespace hf::test {
namespace {

template <class Tree>
class eager_masstree_shape : public ::testing::Test {};
TYPED_TEST_SUITE(eager_masstree_shape, eager_masstrees);

std::vector<u64> in_order(u64 many) {
    std::vector<u64> all(many);
    std::iota(all.begin(), all.end(), 0);
    return all;
}
std::vector<u64> shuffled(u64 many, u64 seed) {
    std::vector<u64> all = in_order(many);
    splitmix64 random(seed);
    for (u64 i = many; i > 1; --i) std::swap(all[i - 1], all[random() % i]);
    return all;
}
template <class Tree>
void load(Tree& t, const std::vector<u64>& numbers) {
    for (const u64 n : numbers) {
        const auto k = numbered<typename Tree::kept>(n);
        ASSERT_TRUE(t.insert(k, k));
    }
}
template <class Tree>
void empty(Tree& t, const std::vector<u64>& numbers) {
    for (const u64 n : numbers) ASSERT_TRUE(t.remove(numbered<typename Tree::kept>(n)));
}
/// The numbers of leaves and interior nodes; the audit must find no damage.
template <class Tree>
auto nodes_of(const Tree& t) {
    const auto report = t.audit();
    EXPECT_TRUE(report.ok()) << report.to_string();
    return std::pair(report.tree.leaves, report.tree.interiors);
}

constexpr u64 many = 20'000;

TYPED_TEST(eager_masstree_shape, ascending_load_fills_nodes) {
    TypeParam t;
    ASSERT_NO_FATAL_FAILURE(load(t, in_order(many)));
    const auto [leaves, interiors] = nodes_of(t);
    EXPECT_LE(leaves, many / 13 + 1);
    EXPECT_LE(interiors, leaves / 11);
}

TYPED_TEST(eager_masstree_shape, ascending_load_in_batches_fills_nodes) {
    TypeParam t;
    typename TypeParam::entries all;
    for (const u64 n : in_order(many)) {
        const auto k = numbered<typename TypeParam::kept>(n);
        all.emplace_back(k, k);
    }
    ASSERT_EQ(t.insert_many(all), many);
    EXPECT_LE(nodes_of(t).first, many / 13 + 1);
}

// Leaves are between half full (7 of 14) and full: 9 or 10 keys on average.
TYPED_TEST(eager_masstree_shape, random_load_leaves_nodes_partly_filled) {
    TypeParam t;
    ASSERT_NO_FATAL_FAILURE(load(t, shuffled(many, 1)));
    const u64 leaves = nodes_of(t).first;
    EXPECT_GT(leaves, many / 11);
    EXPECT_LT(leaves, many / 8);
}

// One leaf and one node of each level above remain.
TYPED_TEST(eager_masstree_shape, emptied_tree_frees_its_nodes) {
    const auto forwards = in_order(many);
    const auto backwards = std::vector(forwards.rbegin(), forwards.rend());
    for (const auto& load_order : {forwards, backwards, shuffled(many, 2)}) {
        for (const auto& order : {forwards, backwards, shuffled(many, 3), shuffled(many, 4)}) {
            TypeParam t;
            ASSERT_NO_FATAL_FAILURE(load(t, load_order));
            ASSERT_NO_FATAL_FAILURE(empty(t, order));
            const auto [leaves, interiors] = nodes_of(t);
            EXPECT_EQ(leaves, 1U);
            EXPECT_LE(interiors, 4U);
            ASSERT_NO_FATAL_FAILURE(load(t, load_order));
            EXPECT_EQ(t.all().size(), many);
            t.expect_sound();
        }
    }
}

// Some keys stay; their nodes remain, and the first child of each parent.
TYPED_TEST(eager_masstree_shape, removing_most_keys_leaves_few_nodes) {
    TypeParam t;
    ASSERT_NO_FATAL_FAILURE(load(t, shuffled(many, 5)));
    std::vector<u64> go = shuffled(many, 6);
    std::erase_if(go, [](u64 n) { return n % 1000 == 500; });
    ASSERT_NO_FATAL_FAILURE(empty(t, go));
    const auto [leaves, interiors] = nodes_of(t);
    const u64 stay = many - go.size();
    EXPECT_LE(leaves, 4 * stay);
    EXPECT_LE(interiors, leaves + 4);
    EXPECT_EQ(t.all().size(), stay);
}

// A queue: keys are inserted at one end and removed at the other.
TYPED_TEST(eager_masstree_shape, size_stays_constant_under_a_queue_workload) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    constexpr u64 waiting = 1000;
    u64 size = 0;
    for (u64 n = 0; n < scaled(100'000); ++n) {
        const kept k = numbered<kept>(n);
        ASSERT_TRUE(t.insert(k, k));
        if (n < waiting) continue;
        ASSERT_TRUE(t.remove(numbered<kept>(n - waiting)));
        if (n == 5 * waiting) size = t.space->file().size();
    }
    const auto [leaves, interiors] = nodes_of(t);
    EXPECT_LE(leaves, waiting / 13 + 20);
    EXPECT_LE(interiors, leaves / 5);
    EXPECT_EQ(t.space->file().size(), size);
}

}  // namespace
}  // namespace hf::test
