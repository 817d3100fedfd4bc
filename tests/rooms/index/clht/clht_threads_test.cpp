#include "clht_fixture.hpp"
#include "index/common/index_threads.hpp"

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace hf::test {
namespace {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(index_scans);
INSTANTIATE_TYPED_TEST_SUITE_P(clht, index_threads, clht_family::durable);

/// All keys are in one chain. Calls a hook when a record of the key "first" is read.
struct watched_keys : byte_keys {
    [[nodiscard]] static u64 hash(std::string_view) noexcept { return 7; }
    [[nodiscard]] static std::string_view key_of(const record& r) {
        const std::string_view k = byte_keys::key_of(r);
        if (looks_at_first && k == "first") looks_at_first();
        return k;
    }
    static inline thread_local std::function<void()> looks_at_first;
};

// Another thread changes a long chain during each traversal, so often that the total number of
// buckets read exceeds the limit for one traversal.
TEST(clht_threads, chain_that_keeps_changing_is_not_reported_as_a_cycle) {
    constexpr unsigned records = 300;  // three in a bucket
    index_in_memory<small_clht<eager_discipline, watched_keys>, discipline::eager> t;
    t.insert("first", "v");
    for (unsigned i = 0; i < records; ++i) t.insert(std::to_string(i), "v");
    unsigned looks_left = (u32{1} << 16) / (records / 3) + 100;
    std::atomic<bool> others_turn{false};
    std::atomic<bool> done{false};
    std::thread other([&] {
        for (; !done; std::this_thread::yield()) {
            if (!others_turn) continue;
            t.remove("0");
            t.insert("0", "v");
            others_turn = false;
        }
    });
    watched_keys::looks_at_first = [&] {
        if (looks_left == 0) return;
        --looks_left;
        others_turn = true;
        while (others_turn) std::this_thread::yield();
    };
    {
        eager_discipline::operation op(*t.space);
        bool found = false;
        EXPECT_NO_THROW(found = t.index->get(op, std::to_string(records - 1), [](const auto&) {}));
        EXPECT_TRUE(found);
    }
    watched_keys::looks_at_first = {};
    done = true;
    other.join();
    EXPECT_EQ(looks_left, 0U);
}

}  // namespace
}  // namespace hf::test
