// Closing the gate with a limit on the waiting: outcomes, what is reported, and who passes.
#include "epoch/gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace hf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using outcome = close_attempt::outcome;

class try_close : public ::testing::Test {
   protected:
    lanes all_{1, 8, [](u32 index) {
                   auto l = std::make_unique<lane>();
                   l->index = index;
                   return l;
               }};
    gate gate_{all_};
};

TEST_F(try_close, an_empty_gate_closes_even_without_patience) {
    EXPECT_EQ(gate_.try_close(seconds(0)).how, outcome::closed);
    EXPECT_TRUE(gate_.is_closed());
    EXPECT_EQ(gate_.try_close(seconds(0)).how, outcome::taken);
    EXPECT_TRUE(gate_.is_closed()) << "the second leader opened the first one's gate";
    gate_.open();
}

TEST_F(try_close, a_thread_inside_makes_it_fail_and_its_lane_and_place_are_reported) {
    lane& mine = all_.mine();
    mine.where = 0x1234;
    ASSERT_TRUE(gate_.try_enter(mine));
    std::thread([&] {
        const close_attempt failed = gate_.try_close(milliseconds(1));
        EXPECT_EQ(failed.how, outcome::in_the_way);
        EXPECT_EQ(failed.lane, mine.index);
        EXPECT_EQ(failed.where, 0x1234U);
        EXPECT_FALSE(gate_.is_closed());
        EXPECT_FALSE(gate_.is_due()) << "a due gate turns every thread away";
        ASSERT_TRUE(gate_.try_enter(all_.mine())) << "others pass after the failed attempt";
        gate::leave(all_.mine());
    }).join();
    gate::leave(mine);
    EXPECT_EQ(gate_.try_close(seconds(0)).how, outcome::closed);
    gate_.open();
}

TEST_F(try_close, it_waits_for_a_thread_that_leaves_within_the_patience) {
    std::atomic<bool> inside{false};
    std::thread section([&] {
        lane& mine = all_.mine();
        ASSERT_TRUE(gate_.try_enter(mine));
        inside = true;
        while (!gate_.is_closed()) std::this_thread::yield();
        gate::leave(mine);
    });
    while (!inside) std::this_thread::yield();
    EXPECT_EQ(gate_.try_close(seconds(100)).how, outcome::closed);
    section.join();
    gate_.open();
}

TEST_F(try_close, lanes_after_the_one_in_the_way_are_waited_for_as_well) {
    lane& mine = all_.mine();
    std::thread([&] {
        ASSERT_TRUE(gate_.try_enter(all_.mine()));
        std::thread([&] {
            EXPECT_EQ(all_.mine().index, mine.index + 2);
            const close_attempt failed = gate_.try_close(microseconds(10));
            EXPECT_EQ(failed.how, outcome::in_the_way);
            EXPECT_EQ(failed.lane, mine.index + 1);
        }).join();
        gate::leave(all_.mine());
    }).join();
}

TEST_F(try_close, while_a_thread_is_still_to_pass_the_gate_stays_open) {
    lane& mine = all_.mine();
    ASSERT_EQ(gate_.try_close(seconds(0)).how, outcome::closed);
    gate_.enter_late(mine, [&] {
        EXPECT_EQ(mine.waits, 1U);
        if (gate_.is_closed()) gate_.open();
        const close_attempt refused = gate_.try_close(seconds(0));
        EXPECT_EQ(refused.how, outcome::owed);
        EXPECT_EQ(refused.lane, mine.index);
        EXPECT_FALSE(gate_.is_closed());
    });
    EXPECT_EQ(mine.waits, 0U);
    EXPECT_TRUE(mine.presence.is_up());
    gate::leave(mine);
    EXPECT_EQ(gate_.try_close(seconds(0)).how, outcome::closed);
    gate_.open();
}

// B6. The attempt that is under way when a thread begins to wait may fail, and so may one whose end
// was not counted yet.
TEST_F(try_close, a_waiting_thread_is_turned_away_by_two_attempts_at_most) {
    constexpr u64 rounds = 300;
    std::atomic<bool> stop{false};
    std::atomic<bool> inside{false};
    std::atomic<u64> failed{0};
    std::atomic<u64> most{0};
    std::vector<std::thread> threads;
    threads.emplace_back([&] {  // is never done, so each attempt fails
        lane& mine = all_.mine();
        ASSERT_TRUE(gate_.try_enter(mine));
        inside = true;
        while (!stop) std::this_thread::yield();
        gate::leave(mine);
    });
    while (!inside) std::this_thread::yield();
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            lane& mine = all_.mine();
            while (!stop) {
                if (!gate_.try_enter(mine)) {
                    std::optional<u64> begun;
                    gate_.enter_late(mine, [&] {
                        if (!begun) begun = failed.load();
                        gate_.wait_while_closed([] {});
                    });
                    const u64 met = failed - *begun;
                    u64 seen = most;
                    while (seen < met && !most.compare_exchange_weak(seen, met)) {
                    }
                }
                gate::leave(mine);
            }
        });
    }
    while (failed < rounds) {
        const close_attempt tried = gate_.try_close(microseconds(5));
        ASSERT_NE(tried.how, outcome::closed);
        if (tried.how == outcome::in_the_way) {
            ++failed;
        } else {
            std::this_thread::yield();
        }
    }
    stop = true;
    for (auto& t : threads) t.join();
    EXPECT_LE(most, 2U);
}

TEST_F(try_close, after_success_the_leader_sees_all_that_was_done_inside) {
    constexpr int workers = 3;
    std::atomic<bool> stop{false};
    std::array<u64, 2 * workers> words{};  // plain: a race is one
    std::vector<std::thread> threads;
    for (int t = 0; t < workers; ++t) {
        threads.emplace_back([&, t] {
            lane& mine = all_.mine();
            while (!stop.load(std::memory_order_relaxed)) {
                if (!gate_.try_enter(mine)) {
                    gate_.enter_late(mine, [&] { gate_.wait_while_closed([] {}); });
                }
                ++words[2 * t];
                ++words[2 * t + 1];
                gate::leave(mine);
            }
        });
    }
    u64 cuts = 0;
    while (cuts < 300) {
        if (gate_.try_close(microseconds(200)).how != outcome::closed) {
            std::this_thread::yield();
            continue;
        }
        ++cuts;
        for (int t = 0; t < workers; ++t) {
            EXPECT_EQ(words[2 * t], words[2 * t + 1]) << "a section is in flight in the cut";
        }
        gate_.open();
    }
    stop = true;
    for (auto& t : threads) t.join();
}

}  // namespace
}  // namespace hf
