// Threads that go in and out, and one that empties: it meets none inside (quiescence.hpp, Q1, Q2).
#include "sync/quiescence.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace hf {
namespace {

constexpr u32 participants = 4;

/// Words that are only equal while no thread changes them: plain ones, so that a race is detected.
struct place {
    std::array<presence_flag, participants> flags;
    std::atomic<u32> count{0};
    std::atomic<bool> closed{false};
    u64 first = 0, second = 0;
    std::array<u64, participants> visits{};

    void go_in(presence_flag& flag) {
        for (;;) {
            flag.enter();
            if (!closed.load(std::memory_order_acquire)) return;
            flag.leave();
            while (closed.load(std::memory_order_acquire)) ::sched_yield();
        }
    }
    template <class Work>
    void empty(Work&& work) {
        closed.store(true);
        drain([&] { return count.load(std::memory_order_acquire); },
              [&](u32 i) -> const presence_flag& { return flags[i]; });
        work();
        closed.store(false, std::memory_order_release);
    }
};

TEST(quiescence, nobody_is_inside_after_a_drain_and_both_sides_see_each_others_stores) {
    constexpr u64 rounds = 3000;
    const auto p = std::make_unique<place>();
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (u32 i = 0; i < participants; ++i) {
        threads.emplace_back([&, i] {
            p->count.fetch_add(1);  // a flag is counted before it is raised
            while (!done.load(std::memory_order_relaxed)) {
                p->go_in(p->flags[i]);
                ++p->visits[i];
                EXPECT_EQ(p->first, p->second) << "inside while somebody had emptied the place";
                p->flags[i].leave();
            }
        });
    }
    u64 seen = 0;
    for (u64 n = 1; n <= rounds; ++n) {
        p->empty([&] {
            p->first = n;
            u64 sum = 0;
            for (u64 v : p->visits) sum += v;
            EXPECT_GE(sum, seen);
            seen = sum;
            for (u64 v : p->visits) sum -= v;
            EXPECT_EQ(sum, 0U) << "somebody was inside";
            p->second = n;
        });
    }
    while (seen == 0) {
        p->empty([&] {
            for (u64 v : p->visits) seen += v;
        });
    }
    done = true;
    for (std::thread& t : threads) t.join();
}

TEST(quiescence, a_drain_waits_for_who_is_inside_and_for_no_one_else) {
    const auto p = std::make_unique<place>();
    p->count = 2;
    p->go_in(p->flags[1]);
    std::atomic<bool> emptied{false};
    std::thread other([&] { p->empty([&] { emptied = true; }); });
    while (!p->closed.load()) ::sched_yield();
    for (int i = 0; i < 1000; ++i) {
        ASSERT_FALSE(emptied.load());
        ::sched_yield();
    }
    p->flags[1].leave();
    other.join();
    EXPECT_TRUE(emptied.load());
    EXPECT_FALSE(p->flags[0].is_up() || p->flags[1].is_up());
}

TEST(quiescence, a_drain_with_a_deadline_names_the_first_flag_that_stays_up) {
    std::array<presence_flag, participants> flags;
    const auto drained = [&](u64 deadline) {
        return drain_until(
            deadline, [] { return participants; },
            [&](u32 i) -> const presence_flag& { return flags[i]; });
    };
    EXPECT_FALSE(drained(0)) << "an empty place is empty at any time";
    flags[2].enter();
    EXPECT_EQ(drained(0), 2U);
    flags[1].enter();
    EXPECT_EQ(drained(now_ns() + 1'000'000), 1U);
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        flags[1].leave();
        flags[2].leave();
    });
    EXPECT_FALSE(drained(~u64{0}));
    other.join();
}

}  // namespace
}  // namespace hf
