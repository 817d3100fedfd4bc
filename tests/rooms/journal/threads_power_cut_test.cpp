// The two threads of a journal, as real threads, on disks that refuse writes and lose power
// (crashlab/disk/journal_threads.hpp). The crash lab runs them as fibers.
#include "crashlab/disk/journal_threads.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace hf::test {
namespace {

void take_a_while() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

/// After the cut none of the unsynced data is durable, all of it, or parts. Returns the number of
/// calls.
u64 expect_nothing_lost(u64 seed, u64 cut_at, bool fills_up) {
    lab::journal_threads life(seed, cut_at, fills_up, take_a_while);
    EXPECT_EQ(life.run().value_or(""), "");
    for (u64 draw = 0; draw < 8; ++draw) {
        xoshiro256ss r(draw);
        const auto taken = [&](std::size_t) { return draw != 0 && (draw == 1 || r.below(2) == 0); };
        EXPECT_EQ(life.judge(taken).value_or(""), "")
            << "seed " << seed << ", power cut at call " << cut_at << ", draw " << draw;
    }
    return life.calls();
}

TEST(journal_threads, lose_no_announced_epoch_whenever_the_power_goes) {
    const u64 seeds = scaled(3);
    for (u64 seed = 1; seed <= seeds; ++seed) {
        const u64 calls = expect_nothing_lost(seed, ~u64{0}, false);
        for (u64 cut = 1; cut <= calls && !::testing::Test::HasFailure(); cut += 1 + cut / 40) {
            expect_nothing_lost(seed, cut, false);
        }
    }
}

TEST(journal_threads, wait_for_room_and_lose_nothing_when_the_disk_is_full_for_a_time) {
    const u64 lives = scaled(10);
    for (u64 seed = 1; seed <= lives && !::testing::Test::HasFailure(); ++seed) {
        expect_nothing_lost(seed, 20 + seed * 17 % 90, true);
    }
}

}  // namespace
}  // namespace hf::test
