// Spin lock, pause and fence, seen by what they ask of the kernel (calls_of_sync.cpp).
#include "sync/spin_lock.hpp"

#include "calls_of_sync.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/quiescence.hpp"

#include <gtest/gtest.h>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace hf {
namespace {

TEST(backoff_test, pauses_64_times_and_then_gives_the_processor_away) {
    for (int turn = 0; turn < 2; ++turn) {
        backoff pause;
        for (int i = 1; i <= 200; ++i) {
            const u64 yields = test::yields_of_this_thread;
            pause.wait();
            EXPECT_EQ(test::yields_of_this_thread - yields, i <= 64 ? 0U : 1U) << i;
        }
    }
}

TEST(spin_lock_test, is_held_by_one_from_lock_to_unlock) {
    spin_lock lock;
    for (int turn = 0; turn < 3; ++turn) {
        EXPECT_FALSE(lock.is_held());
        if (turn == 0)
            lock.lock();
        else
            EXPECT_TRUE(lock.try_lock());
        EXPECT_TRUE(lock.is_held());
        EXPECT_FALSE(lock.try_lock());
        EXPECT_TRUE(lock.is_held()) << "who did not get it has not let it go";
        std::thread other([&] { EXPECT_FALSE(lock.try_lock()); });
        other.join();
        lock.unlock();
    }
    EXPECT_FALSE(lock.is_held());
}

TEST(spin_lock_test, lets_one_in_at_a_time) {
    constexpr u64 times = 5000;
    spin_lock lock;
    u64 first = 0;  // plain, so that a race is one
    u64 second = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (u64 n = 0; n < times; ++n) {
                while (i == 0 && !lock.try_lock()) ::sched_yield();
                if (i != 0) lock.lock();
                EXPECT_EQ(first, second);
                ++first;
                ++second;
                lock.unlock();
            }
        });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(first, 4 * times);
    EXPECT_EQ(second, 4 * times);
}

// The light side is free only because the heavy one makes the kernel fence for both.
TEST(asymmetric_fence_test, is_the_kernels_where_it_has_one) {
    const long has = ::syscall(__NR_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    const bool has_it = has > 0 && (has & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
    EXPECT_EQ(detail::membarrier_available, has_it);
    if (!has_it) GTEST_SKIP() << "this kernel has none";
    EXPECT_EQ(test::fences_asked(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED), 1U) << "before main";
    const u64 before = test::fences_asked(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    heavy_fence();
    EXPECT_EQ(test::fences_asked(MEMBARRIER_CMD_PRIVATE_EXPEDITED) - before, 1U);
    light_fence();
    EXPECT_EQ(test::fences_asked(MEMBARRIER_CMD_PRIVATE_EXPEDITED) - before, 1U);
    drain([] { return 0U; }, [](u32) -> const presence_flag& { std::abort(); });
    EXPECT_EQ(test::fences_asked(MEMBARRIER_CMD_PRIVATE_EXPEDITED) - before, 2U)
        << "who empties a place fences first";
}

TEST(presence_flag_test, is_up_from_enter_to_leave) {
    presence_flag flag;
    static_assert(sizeof(presence_flag) == 64 && alignof(presence_flag) == 64);
    for (int turn = 0; turn < 2; ++turn) {
        EXPECT_FALSE(flag.is_up());
        EXPECT_FALSE(flag.is_up_here());
        flag.wait_until_down();
        flag.enter();
        EXPECT_TRUE(flag.is_up());
        EXPECT_TRUE(flag.is_up_here());
        flag.leave();
    }
    EXPECT_FALSE(flag.is_up());
}

// Each of them, and in particular the first and the last.
TEST(presence_flag_test, a_drain_waits_for_every_flag_that_counts) {
    constexpr u32 all = 5;
    const auto flags = std::make_unique<std::array<presence_flag, all + 1>>();
    (*flags)[all].enter();  // does not count
    for (u32 up = 0; up < all; ++up) {
        (*flags)[up].enter();
        std::atomic<bool> left{false};
        std::thread other([&] {
            drain([] { return all; }, [&](u32 i) -> const presence_flag& { return flags->at(i); });
            EXPECT_TRUE(left) << "it did not wait for flag " << up;
        });
        for (int i = 0; i < 200; ++i) ::sched_yield();
        left = true;
        (*flags)[up].leave();
        other.join();
    }
}

}  // namespace
}  // namespace hf
