#include "bwtree_fixture.hpp"
#include "index/common/index_audit.hpp"
#include "index/common/index_states.hpp"
#include "index/common/index_store.hpp"
#include "support/sync_points.hpp"

#include <atomic>
#include <string_view>
#include <thread>

namespace hf::test {

/// Damage may turn a delta into an older one, or set a tombstone bit, which is a valid other state.
template <class D, class Keys>
inline constexpr bool has_other_states<bwtree<D, Keys>> = true;

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_store, ::testing::Types<bwtree_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_audits, ::testing::Types<bwtree_family>);
INSTANTIATE_TYPED_TEST_SUITE_P(bwtree, index_states, ::testing::Types<bwtree_family>);

class bwtree_store : public on_tmpfs {};
using numbers = bwtree_family::numbers_in_file;

// The cost is a delta and a word, whatever the chain contains.
TEST_F(bwtree_store, operations_use_the_documented_number_of_flushes_and_fences) {
    numbers t(file);
    using cost = std::pair<u64, u64>;
    EXPECT_EQ(cost_of([&] { t.insert(1, 1); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { t.insert(2, 1); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { t.update(1, 2); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { t.remove(2); }), cost(2, 2));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(1); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.get(2); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { std::ignore = t.scan(0, 100); }), cost(0, 0));
    EXPECT_EQ(cost_of([&] { t.insert(1, 1); }), cost(0, 0));
}

TEST_F(bwtree_store, batch_uses_two_fences) {
    numbers t(file);
    EXPECT_EQ(fences_of_batch(t, 100, batch_entries), 2U);
    bwtree_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_EQ(fences_of_batch(strings, 100, batch_entries), 2U);
}

// A remove needs no memory. Dead entries are neither found nor scanned, can be inserted again, and
// are dropped at the next consolidation.
TEST_F(bwtree_store, remove_succeeds_without_memory_for_a_delta) {
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
    EXPECT_EQ(t.all().size(), n / 2 + again);
    t.expect_sound();
}

// The audit visits more deltas than a traversal may have steps: each leaf must count as a traversal
// of its own.
TEST_F(bwtree_store, audit_accepts_any_number_of_deltas) {
    if (is_sanitized) GTEST_SKIP() << "as many steps on any build";
    bwtree_family::eager_numbers t(u64{256} << 20);
    splitmix64 random(1);
    for (u64 i = 0; i < 2'000'000; ++i) t.insert(random(), i);
    t.expect_sound();
}

// Bulk load into an empty index.
TEST_F(bwtree_store, bulk_load_uses_few_fences) {
    constexpr u64 batches = 100;
    numbers t(file);
    EXPECT_LE(cost_of_load(t, batches * batch_entries).second, 7 * batches / 2);
    bwtree_family::bytes_in_file strings(dir / "strings.hf");
    EXPECT_LE(cost_of_load(strings, batches * batch_entries).second, 7 * batches / 2);
}

// A writer loses its CAS to another writer as often as a traversal may have steps. It must not
// report damage: the other thread makes progress each time.
TEST_F(bwtree_store, writer_that_keeps_losing_its_cas_succeeds_in_the_end) {
    if (!sync_points::exist) GTEST_SKIP() << "needs persist points";
    numbers t(file);
    t.insert(1, 1);
    t.insert(2, 1);
    static std::atomic<unsigned> times_left;
    static std::atomic<bool> others_turn;
    static thread_local bool is_slow = false;
    times_left = 16000;  // each retry takes several steps
    others_turn = false;
    const auto old_hook = set_persist_point_hook([](const char* name) {
        if (!is_slow || !std::string_view(name).starts_with("eager P1") || times_left == 0) return;
        --times_left;
        others_turn = true;
        while (others_turn) std::this_thread::yield();
    });
    std::atomic<bool> done{false};
    std::thread other([&] {
        for (u64 v = 2; !done; std::this_thread::yield()) {
            if (!others_turn) continue;
            t.update(2, ++v);
            others_turn = false;
        }
    });
    is_slow = true;
    EXPECT_NO_THROW(t.update(1, 7));
    is_slow = false;
    done = true;
    other.join();
    set_persist_point_hook(old_hook);
    EXPECT_EQ(times_left, 0U);
    EXPECT_EQ(t.get(1), 7U);
}

}  // namespace
}  // namespace hf::test
