// The order in which mutexes are taken.
#include "base/lock_order.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace hf {
namespace {

TEST(lock_order, lets_a_thread_take_mutexes_in_ascending_order_again_and_again) {
    std::mutex outer;
    std::mutex inner;
    for (int i = 0; i < 2; ++i) {
        const ranked_guard first(lock_rank::heap_pages, outer);
        const ranked_guard second(lock_rank::growth, inner);
    }
    const ranked_guard alone(lock_rank::store_purge, outer);
}

TEST(lock_order, is_each_threads_own) {
    std::mutex outer;
    std::mutex inner;
    const ranked_guard mine(lock_rank::dirty_lines, inner);
    std::thread([&] { const ranked_guard other(lock_rank::store_purge, outer); }).join();
}

TEST(lock_order, excludes_other_threads_as_a_guard_does) {
    std::mutex mutex;
    const ranked_guard held(lock_rank::growth, mutex);
    bool is_free = true;
    std::thread([&] { is_free = mutex.try_lock(); }).join();
    EXPECT_FALSE(is_free);
}

void take_both(lock_rank first, lock_rank second) {
    std::mutex one;
    std::mutex other;
    const ranked_guard a(first, one);
    const ranked_guard b(second, other);
}

TEST(lock_order_death, ends_a_process_that_takes_a_lower_or_an_equal_rank) {
    if (!assertions_run) GTEST_SKIP() << "assertions are compiled out";
    EXPECT_DEATH(take_both(lock_rank::growth, lock_rank::heap_pages), "against the order");
    EXPECT_DEATH(take_both(lock_rank::growth, lock_rank::growth), "against the order");
    take_both(lock_rank::heap_pages, lock_rank::growth);
}

// A mutex of a higher rank that was given back does not count.
TEST(lock_order, forgets_what_was_given_back) {
    std::mutex one;
    std::mutex other;
    {
        const ranked_guard first(lock_rank::roots, one);
    }
    const ranked_guard second(lock_rank::growth, other);
    const ranked_guard third(lock_rank::superblocks, one);
}

}  // namespace
}  // namespace hf
