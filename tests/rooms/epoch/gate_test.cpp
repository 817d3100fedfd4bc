// The gate by itself, and the work that is shared out while it is closed.
#include "epoch/gate.hpp"

#include "epoch/shared_work.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace hf {
namespace {

lanes::maker plain_lanes() {
    return [](u32 index) {
        auto l = std::make_unique<lane>();
        l->index = index;
        return l;
    };
}

TEST(gate, one_closes_it_and_nobody_else_until_it_is_open_again) {
    const lanes all(1, 4, plain_lanes());
    gate g(all);
    EXPECT_TRUE(g.close());
    EXPECT_TRUE(g.is_closed());
    EXPECT_FALSE(g.close());
    g.ask();
    EXPECT_FALSE(g.is_due()) << "a closed gate was found due";
    g.open();
    g.ask();
    EXPECT_TRUE(g.is_due());
    EXPECT_TRUE(g.close());
    g.open();
    EXPECT_FALSE(g.is_due() || g.is_closed());
}

TEST(gate, nobody_enters_while_it_is_due_or_closed) {
    lanes all(1, 4, plain_lanes());
    gate g(all);
    lane& mine = all.mine();
    ASSERT_TRUE(g.try_enter(mine));
    EXPECT_TRUE(mine.presence.is_up());
    gate::leave(mine);
    g.ask();
    EXPECT_FALSE(g.try_enter(mine));
    EXPECT_FALSE(mine.presence.is_up()) << "who is turned away would be waited for";
    ASSERT_TRUE(g.close());
    EXPECT_FALSE(g.try_enter(mine));
    g.open();
    ASSERT_TRUE(g.try_enter(mine));
    gate::leave(mine);
}

TEST(gate, who_closes_it_sees_all_that_was_done_inside_and_nobody_is_there) {
    constexpr int workers = 3;
    constexpr u64 boundaries = 2000;
    lanes all(1, 8, plain_lanes());
    gate g(all);
    std::atomic<bool> stop{false};
    std::array<u64, 2 * workers> words{};  // plain: a race is one
    u64 epoch = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < workers; ++t) {
        threads.emplace_back([&, t] {
            lane& mine = all.mine();
            while (!stop.load(std::memory_order_relaxed)) {
                if (!g.try_enter(mine)) {
                    g.wait_while_closed([] {});
                    continue;
                }
                const u64 begun = epoch;
                ++words[2 * t];
                ++words[2 * t + 1];
                EXPECT_EQ(epoch, begun);
                gate::leave(mine);
            }
        });
    }
    u64 last = 0;
    for (u64 i = 0; i < boundaries || last == 0; ++i) {
        ASSERT_TRUE(g.close());
        ++epoch;
        u64 sum = 0;
        for (int t = 0; t < workers; ++t) {
            EXPECT_EQ(words[2 * t], words[2 * t + 1]);
            sum += words[2 * t];
        }
        EXPECT_GE(sum, last);
        last = sum;
        g.open();
    }
    stop = true;
    for (auto& t : threads) t.join();
}

TEST(shared_work, every_piece_is_done_once_whoever_helps) {
    constexpr std::size_t most = 300;
    shared_work work;
    std::atomic<bool> stop{false};
    std::vector<std::thread> helpers;
    for (int t = 0; t < 3; ++t) {
        helpers.emplace_back([&] {
            while (!stop.load(std::memory_order_relaxed)) work.help();
        });
    }
    for (std::size_t round = 0; round < 2000; ++round) {
        const std::size_t pieces = round % most;
        std::vector<u32> done(pieces);  // plain: no piece has two workers
        work.run(pieces, [&](std::size_t i) { ++done[i]; });
        for (const u32 times : done) ASSERT_EQ(times, 1U);
    }
    stop = true;
    for (auto& t : helpers) t.join();
}

TEST(shared_work, returns_when_its_pieces_are_done_and_not_when_they_are_taken) {
    shared_work work;
    const auto leader = std::this_thread::get_id();
    for (int round = 0; round < 10; ++round) {
        std::atomic<bool> helped{false};
        std::array<std::atomic<bool>, 2> done{};
        std::atomic<bool> stop{false};
        std::thread helper([&] {
            while (!stop.load(std::memory_order_relaxed)) work.help();
        });
        work.run(2, [&](std::size_t i) {
            if (std::this_thread::get_id() == leader) {
                while (!helped.load() && !done[1 - i].load()) cpu_relax();
            } else {
                helped = true;
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
            done[i] = true;
        });
        EXPECT_TRUE(done[0] && done[1]);
        stop = true;
        helper.join();
    }
}

// A sleeper is woken by who opens it, however long it has slept.
TEST(gate, who_sleeps_before_it_is_woken_when_it_opens) {
    const lanes all(1, 4, plain_lanes());
    gate g(all);
    for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(g.close());
        std::atomic<u64> helps{0};
        std::thread sleeper([&] { g.wait_while_closed([&] { helps.fetch_add(1); }); });
        while (helps.load() == 0) std::this_thread::yield();
        if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        g.open();
        sleeper.join();
        EXPECT_GT(helps.load(), 0U);
    }
    g.wait_while_closed([] { FAIL() << "it is open"; });
}

}  // namespace
}  // namespace hf
