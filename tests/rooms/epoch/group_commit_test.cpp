// Which threads wait for an epoch, which one ends it, and that none misses its end.
#include "epoch/group_commit.hpp"

#include "support/effort.hpp"
#include "sync/spin_lock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>
#include <vector>

namespace hf {
namespace {

TEST(group_commit, one_promise_covers_all_tickets_up_to_it) {
    group_commit g;
    g.start(4);
    EXPECT_TRUE(g.promise(7));
    EXPECT_FALSE(g.promise(7));
    EXPECT_FALSE(g.promise(5));
    EXPECT_TRUE(g.promise(8)) << "an epoch of its own";
    EXPECT_FALSE(g.promise(7));
}

TEST(group_commit, a_promise_that_was_withdrawn_is_somebody_elses) {
    group_commit g;
    ASSERT_TRUE(g.promise(5));
    const u32 calls = g.calls(5);
    ASSERT_FALSE(g.promise(5));
    g.withdraw(5);
    g.sleep(5, calls);  // returns: it was called
    EXPECT_TRUE(g.promise(5));
}

TEST(group_commit, a_further_promise_outlives_the_withdrawal_of_an_earlier_one) {
    group_commit g;
    ASSERT_TRUE(g.promise(5));
    ASSERT_TRUE(g.promise(6));
    g.withdraw(5);
    EXPECT_FALSE(g.promise(6));
    EXPECT_FALSE(g.promise(5));
}

TEST(group_commit, an_epoch_is_durable_before_its_room_is_called) {
    group_commit g;
    const u32 calls = g.calls(1);
    g.announce(1);
    EXPECT_EQ(g.durable(), 1U);
    EXPECT_EQ(g.calls(1), calls);
    g.call(1);
    EXPECT_NE(g.calls(1), calls);
    EXPECT_EQ(g.calls(2), 0U) << "others sleep on";
}

// A thread that comes in the moment of a withdrawal finds the promise free, or is woken.
TEST(group_commit, a_withdrawal_is_seen_by_who_sleeps_no_sooner) {
    group_commit g;
    std::barrier both(2);
    const u64 rounds = test::scaled(20'000);
    const auto linger = [](u64 n) {
        for (u64 i = 0; i < n; ++i) cpu_relax();
    };
    std::thread gives_up([&] {
        for (u64 round = 0; round < rounds; ++round) {
            (void)g.promise(5);
            both.arrive_and_wait();
            linger(round % 61);
            g.withdraw(5);
            both.arrive_and_wait();
        }
    });
    for (u64 round = 0; round < rounds; ++round) {
        both.arrive_and_wait();
        linger(round % 53);
        for (;;) {
            const u32 calls = g.calls(5);
            if (g.promise(5)) break;
            g.sleep(5, calls);
        }
        g.withdraw(5);
        both.arrive_and_wait();
    }
    gives_up.join();
}

// The waiting loop of an epoch manager, with a disk that refuses now and then; no clock helps out.
TEST(group_commit, nobody_sleeps_for_ever) {
    constexpr u64 waiters = 16;
    constexpr u64 waits = 2000;
    group_commit g;
    std::mutex gate;
    std::atomic<u64> current{1};
    std::atomic<u64> refused{0};
    const auto wait = [&](u64 epoch, bool gives_up) {
        while (g.durable() < epoch) {
            const u32 calls = g.calls(epoch);
            if (current.load() <= epoch && g.promise(epoch)) {
                if (gives_up) {
                    refused.fetch_add(1);
                    g.withdraw(epoch);
                    return;
                }
                const std::lock_guard boundary(gate);
                if (current.load() != epoch) continue;
                g.announce(epoch);
                current.store(epoch + 1);
                g.call(epoch);
            } else if (g.durable() < epoch) {
                g.sleep(epoch, calls);
            }
        }
    };
    std::vector<std::thread> threads;
    for (u64 i = 0; i < waiters; ++i) {
        threads.emplace_back([&, i] {
            for (u64 n = 0; n < waits; ++n) wait(current.load(), (n + i) % 7 == 0);
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_GT(refused.load(), 0U);
    EXPECT_EQ(g.durable() + 1, current.load());
}

}  // namespace
}  // namespace hf
