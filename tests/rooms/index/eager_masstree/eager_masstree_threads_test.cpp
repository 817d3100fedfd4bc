// Leaves are created and unlinked while other threads descend to them.
#include "base/random.hpp"
#include "eager_masstree_fixture.hpp"
#include "support/effort.hpp"

#include <atomic>
#include <thread>

namespace hf::test {
namespace {

template <class Tree>
class eager_masstree_threads : public ::testing::Test {};
TYPED_TEST_SUITE(eager_masstree_threads, eager_masstrees);

template <class Kept>
u64 number_of(const Kept& k) {
    if constexpr (std::is_same_v<Kept, u64>) {
        return k;
    } else {
        return std::stoull(k) - 10'000'000;
    }
}

// Each thread has every third key, inserts its keys in one order and removes them in another. So
// leaves become empty while other threads insert into them.
TYPED_TEST(eager_masstree_threads, concurrent_writers_fill_and_empty_the_same_leaves) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    run_threads(3, [&](unsigned me) {
        splitmix64 random(me + 1);
        for (unsigned round = 0; round < scaled(600); ++round) {
            const u64 begin = random() % 300;
            const u64 many = 1 + random() % 200;
            const bool in_batch = random() % 4 == 0;
            typename TypeParam::entries mine;
            for (u64 i = 0; i < many; ++i) {
                const u64 n = (begin + i) * 3 + me;
                mine.emplace_back(numbered<kept>(n), numbered<kept>(n * 2));
            }
            if (random() % 2 == 0) std::reverse(mine.begin(), mine.end());
            if (in_batch) {
                ASSERT_EQ(t.insert_many(mine), many);
            } else {
                for (const auto& [k, v] : mine) ASSERT_TRUE(t.insert(k, v));
            }
            for (const auto& [k, v] : mine) ASSERT_EQ(t.get(k), v);
            if (random() % 2 == 0) std::reverse(mine.begin(), mine.end());
            for (const auto& [k, v] : mine) {
                ASSERT_TRUE(t.remove(k));
                ASSERT_FALSE(t.get(k).has_value());
            }
        }
    });
    EXPECT_TRUE(t.all().empty());
    const auto report = t.audit();
    EXPECT_TRUE(report.ok()) << report.to_string();
    EXPECT_EQ(report.tree.leaves, 1U);
}

// Every hundredth key stays and must be visited, in order. A writer fills and empties whole leaves
// between them. Ranges of keys are close to the scans' bounds.
TYPED_TEST(eager_masstree_threads, scans_stay_in_order_while_leaves_are_unlinked) {
    using kept = typename TypeParam::kept;
    TypeParam t;
    constexpr u64 keys = 1000;
    constexpr u64 apart = 100;
    for (u64 n = 0; n < keys; n += apart) t.insert(numbered<kept>(n), numbered<kept>(n));
    std::atomic<bool> over{false};
    const auto write = [&](unsigned me) {
        splitmix64 random(me + 7);
        while (!over) {
            const u64 begin = random() % keys;
            const u64 end = std::min(keys, begin + random() % 60);
            for (u64 n = begin; n < end; ++n) {
                if (n % apart != 0) t.upsert(numbered<kept>(n), numbered<kept>(n));
            }
            for (u64 n = begin; n < end; ++n) {
                if (n % apart != 0) t.remove(numbered<kept>(n));
            }
        }
    };
    std::thread one([&] { write(0); });
    std::thread other([&] { write(1); });
    splitmix64 random(4);
    for (unsigned round = 0; round < scaled(6'000); ++round) {
        const bool up = round % 2 == 0;
        const u64 bound = random() % keys;
        const u64 most = 20 + random() % 400;
        const auto found =
            up ? t.scan(numbered<kept>(bound), most) : t.scan_back(numbered<kept>(bound), most);
        u64 wanted = up ? (bound + apart - 1) / apart * apart : bound / apart * apart;
        for (std::size_t i = 0; i < found.size(); ++i) {
            const u64 n = number_of<kept>(found[i].first);
            ASSERT_TRUE(up ? n >= bound : n <= bound);
            if (i != 0) {
                const u64 before = number_of<kept>(found[i - 1].first);
                ASSERT_TRUE(up ? before < n : n < before) << before << ", " << n;
            }
            ASSERT_TRUE(up ? n <= wanted : n >= wanted) << "missed " << wanted;
            if (n == wanted) wanted = up ? wanted + apart : wanted - apart;
        }
        if (found.size() < most) {
            ASSERT_EQ(wanted, up ? keys : u64{0} - apart);
        }
    }
    over = true;
    one.join();
    other.join();
    t.expect_sound();
}

}  // namespace
}  // namespace hf::test
