// An operation that finds damage while it holds the parent's lock releases that lock.
#include "bwtree_fixture.hpp"

#include <utility>
#include <vector>

namespace hf::test {
namespace {

using tree = bwtree<eager_discipline, integer_keys>;
using namespace bwtree_detail;  // NOLINT(google-build-using-namespace): this file is about it

class damaged_bwtree : public ::testing::Test {
   protected:
    void SetUp() override {
        for (u64 k = 0; k < 2000; ++k) t_.insert(k, k);
        audit_report report;
        const auto caches = t_.space->grace().caches();
        swept::view books(t_.space->heap(), caches);
        heap_audit a(t_.space->file(), books, report);
        a.read_runs();
        a.tell_claims([&](const heap_audit::place& p, const char* what, u64) {
            if (what == std::string_view("a cell")) cells_.push_back(p.payload);
        });
        t_.index->audit(a);
    }
    template <class T>
    [[nodiscard]] T& at(u64 offset) {
        return *t_.space->file().at<T>(offset);
    }
    [[nodiscard]] node& node_of(u64 cell_offset) {
        const u64 offset = cell::offset_of(at<cell>(cell_offset).load());
        auto& b = at<block>(offset);
        return b.kind() == what::delta ? at<node>(static_cast<delta&>(b).base()) : at<node>(offset);
    }
    /// The cells of two adjacent leaves.
    [[nodiscard]] std::pair<u64, u64> neighbours() {
        for (const u64 c : cells_) {
            const node& n = node_of(c);
            if (n.level() == 0 && n.has_low() && n.has_high()) return {c, n.next};
        }
        return {0, 0};
    }
    /// Leaves the leaf frozen, as a merge whose process died: a writer that finds it adopts it
    /// under its parent's lock. Returns a key of the leaf.
    [[nodiscard]] u64 freeze(u64 leaf) {
        auto& c = at<cell>(leaf);
        EXPECT_TRUE(c.freeze(c.load()));
        c.set_durable(c.load());
        return node_of(leaf).low_head + 1;
    }
    [[nodiscard]] u64 held_locks() {
        u64 n = 0;
        for (const u64 c : cells_) n += at<cell>(c).lock.is_held(t_.space->generation()) ? 1 : 0;
        return n;
    }

    index_in_memory<tree, discipline::eager> t_;
    std::vector<u64> cells_;
};

TEST_F(damaged_bwtree, locks_are_released_if_a_leaf_links_to_itself) {
    const auto [left, right] = neighbours();
    ASSERT_NE(right, 0U);
    // The adoption searches the left neighbour, whose range seems to end too early, and whose link
    // points to itself.
    const u64 in_right = freeze(right);
    node& n = node_of(left);
    n.high_head = n.low_head + 1;
    n.next = left;
    ASSERT_EQ(held_locks(), 0U);
    EXPECT_THROW(t_.upsert(in_right, 1), damage);
    EXPECT_EQ(held_locks(), 0U);
    EXPECT_THROW(t_.remove(in_right), damage);
    EXPECT_EQ(held_locks(), 0U);
}

TEST_F(damaged_bwtree, write_fails_if_a_frozen_leaf_cannot_be_thawed) {
    const auto [left, right] = neighbours();
    ASSERT_NE(right, 0U);
    const u64 in_right = freeze(right);
    node_of(left).next = 0;  // the leaf cannot be thawed, however often a writer tries
    EXPECT_THROW(t_.upsert(in_right, 1), damage);
    EXPECT_EQ(held_locks(), 0U);
}

// The holder of the left leaf is dead: the hold bit is set, and the lock is of another generation.
TEST_F(damaged_bwtree, merge_proceeds_despite_a_stale_hold_of_the_neighbour) {
    const auto [left, right] = neighbours();
    ASSERT_NE(right, 0U);
    const u64 from = node_of(left).low_head;
    const u64 middle = node_of(right).low_head;
    const u64 to = node_of(right).high_head;
    const u64 next_one = node_of(right).next;
    // The left leaf keeps too many entries to be merged itself, and few enough for both to fit in
    // one node.
    for (u64 k = from; k + most_entries / 4 < middle; ++k) ASSERT_TRUE(t_.remove(k)) << k;
    auto& held = at<cell>(left);
    for (u64 k = middle; k < to; ++k) {
        if (const u64 word = held.load(); (word & cell::hold) == 0) {
            ASSERT_TRUE(held.take_hold(word));
        }
        ASSERT_TRUE(t_.remove(k)) << k;
    }
    EXPECT_EQ(node_of(left).next, next_one) << "the right one was not taken";
    EXPECT_EQ(held_locks(), 0U);
}

}  // namespace
}  // namespace hf::test
