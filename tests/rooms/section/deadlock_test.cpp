// Hunts for deadlocks at the gate: sections that wait for threads that wait at it. Each program
// ends because the gate opens again after the leader's time-out; the watchdog reports a deadlock.
#include "base/clock.hpp"
#include "section/cutter.hpp"
#include "section/opened_group.hpp"

#include <pthread.h>

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace hf {
namespace {

using namespace std::chrono_literals;

class section_gate : public test::on_tmpfs {
   protected:
    void SetUp() override {
        auto o = test::by_hand(HF_STORES_ANNOUNCED);
        o.by_hand = 0;
        o.period_us = 200;
        o.patience_us = 300;
        ASSERT_EQ(hf_group_open(file.c_str(), &o), 0) << hf_section_error();
    }
    void TearDown() override {
        EXPECT_EQ(hf_wait_stable(), 0) << hf_section_error();
        hf_section_numbers n{};
        hf_section_numbers_get(&n);
        EXPECT_GT(n.cuts, 0U) << "no cut was made after the sections";
        EXPECT_EQ(hf_group_close(), 0) << hf_section_error();
    }
};

// A section waits, inside, for a flag that another thread sets under a lock.
TEST_F(section_gate, a_section_that_spins_for_another_threads_section_ends) {
    std::mutex a;
    std::mutex b;
    for (int i = 0; i < 300; ++i) {
        std::atomic<bool> set{false};
        std::thread setter([&] {
            const std::lock_guard guard(b);
            set = true;
        });
        {
            const std::lock_guard guard(a);
            while (!set) std::this_thread::yield();
        }
        setter.join();
    }
}

TEST_F(section_gate, a_section_that_joins_a_thread_with_sections_ends) {
    std::mutex a;
    std::mutex b;
    for (int i = 0; i < 100; ++i) {
        const std::lock_guard guard(a);
        std::thread([&] {
            for (int k = 0; k < 10; ++k) const std::lock_guard inner(b);
        }).join();
    }
}

TEST_F(section_gate, a_barrier_inside_sections_is_passed) {
    std::barrier all(3);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            std::mutex own;
            for (int i = 0; i < 100; ++i) {
                const std::lock_guard guard(own);
                all.arrive_and_wait();
            }
        });
    }
    for (auto& t : threads) t.join();
}

// A wait with a second lock held stays inside; the thread that signals must pass the gate.
TEST_F(section_gate, a_nested_condition_wait_is_signalled_through_the_gate) {
    std::mutex outer;
    std::mutex m;
    std::condition_variable c;
    int turn = 0;
    std::thread other([&] {
        for (int i = 0; i < 100; ++i) {
            std::unique_lock lock(m);
            c.wait(lock, [&] { return turn == 1; });
            turn = 0;
            c.notify_all();
        }
    });
    for (int i = 0; i < 100; ++i) {
        const std::lock_guard guard(outer);
        std::unique_lock lock(m);
        turn = 1;
        c.notify_all();
        c.wait(lock, [&] { return turn == 0; });
    }
    other.join();
}

TEST_F(section_gate, many_threads_and_few_locks_of_all_kinds_make_progress) {
    std::mutex m[2];
    std::shared_mutex s;
    std::condition_variable c;
    u64 sum = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 400; ++i) {
                switch ((t + i) % 4) {
                    case 0: {
                        const std::scoped_lock both(m[0], m[1]);
                        ++sum;
                        break;
                    }
                    case 1: {
                        const std::shared_lock reading(s);
                        const std::lock_guard guard(m[0]);
                        c.notify_all();
                        break;
                    }
                    case 2: {
                        const std::lock_guard writing(s);
                        break;
                    }
                    default: {
                        std::unique_lock lock(m[0]);
                        c.wait_for(lock, 100us);
                    }
                }
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(sum, 800U);
}

TEST(cut_pace, doubles_patience_each_third_time_up_to_its_limit_and_stalls_a_fiftieth) {
    section::cut_pace pace({.period_ns = 10, .patience_ns = 100, .max_patience_ns = 350});
    u64 stalled = 0;
    u64 all = 0;
    std::vector<u64> tried;
    for (int i = 0; i < 10; ++i) {
        tried.push_back(pace.patience());
        stalled += pace.patience();
        all += pace.patience();
        all += pace.failed();
    }
    EXPECT_EQ(tried, (std::vector<u64>{100, 100, 100, 200, 200, 200, 350, 350, 350, 350}));
    EXPECT_LE(stalled * 50, all);
    EXPECT_EQ(pace.succeeded(), 10U);
    EXPECT_EQ(pace.patience(), 100U);
}

TEST(section_pauses, have_quantiles_that_are_at_most_a_fifth_too_large) {
    section::pauses p;
    EXPECT_EQ(p.quantile(0.5), 0U);
    for (u64 i = 1; i <= 1000; ++i) p.note(i * 1000);
    for (const double share : {0.01, 0.5, 0.99, 1.0}) {
        const auto exact = static_cast<u64>(share * 1e6);
        EXPECT_GE(p.quantile(share), exact);
        EXPECT_LE(p.quantile(share), exact * 5 / 4);
    }
    p.clear();
    EXPECT_EQ(p.quantile(1.0), 0U);
    section::pauses short_ones;
    for (const u64 ns : {0U, 1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) short_ones.note(ns);
    EXPECT_EQ(short_ones.quantile(0.0), 0U);
    EXPECT_GE(short_ones.quantile(1.0), 8U);
}

TEST(cut_pace, is_not_slowed_by_a_busy_disk) {
    section::cut_pace pace({.period_ns = 10, .patience_ns = 100, .max_patience_ns = 350});
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(pace.after(section::cut_outcome::disk_busy), 10U);
        EXPECT_EQ(pace.patience(), 100U) << "no section was in the way";
    }
    EXPECT_GT(pace.after(section::cut_outcome::section_in_the_way), 10U);
}

TEST(cutter, tries_again_after_a_period_when_the_disk_was_busy) {
    std::atomic<int> tries{0};
    section::cutter c;
    c.start(
        {.period_ns = 1'000'000, .patience_ns = 50'000'000, .look_ns = 1'000'000},
        [] { return section::cutter::needs{true, false}; },
        [&](u64) {
            ++tries;
            return section::cut_outcome::disk_busy;
        });
    // With the pause of an attempt that failed there would be one in 2.4 s.
    const u64 until = now_ns() + 2'000'000'000;
    while (tries.load() < 5 && now_ns() < until) std::this_thread::sleep_for(1ms);
    c.stop();
    EXPECT_GE(tries.load(), 5);
}

}  // namespace
}  // namespace hf
