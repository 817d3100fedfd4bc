// When the next attempt to close the gate is made, and for how long it waits (attempts.hpp).
#include "epoch/attempts.hpp"

#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace hf {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using outcome = close_attempt::outcome;

class attempts_test : public ::testing::Test {
   protected:
    /// An attempt that kept the gate closed for `stall`.
    void end(outcome how, nanoseconds stall, u64 where = 0) {
        all_.ended({how, 3, where}, now_ns() - static_cast<u64>(stall.count()));
    }

    attempts all_{gate_patience{.first = 100us, .limit = 1ms}};
};

TEST_F(attempts_test, without_a_first_patience_there_is_no_limit) {
    EXPECT_FALSE(attempts(gate_patience{}).are_limited());
    EXPECT_TRUE(all_.are_limited());
}

TEST_F(attempts_test, failures_double_the_patience_up_to_the_limit) {
    EXPECT_EQ(all_.patience(), 100us);
    for (const auto expected : {200us, 400us, 800us, 1000us, 1000us}) {
        end(outcome::in_the_way, 1us);
        EXPECT_EQ(all_.patience(), expected);
    }
}

TEST_F(attempts_test, a_limit_below_the_first_patience_is_the_first_patience) {
    attempts a(gate_patience{.first = 2ms, .limit = 1ms});
    a.ended({outcome::in_the_way, 1, 0}, now_ns());
    EXPECT_EQ(a.patience(), 2ms);
}

TEST_F(attempts_test, quick_successes_halve_the_patience_down_to_the_first) {
    for (int i = 0; i < 3; ++i) end(outcome::in_the_way, 1us);
    end(outcome::closed, 500us);
    EXPECT_EQ(all_.patience(), 800us) << "a slow success says that the patience is needed";
    end(outcome::closed, 1us);
    EXPECT_EQ(all_.patience(), 400us);
    for (int i = 0; i < 5; ++i) end(outcome::closed, 0us);
    EXPECT_EQ(all_.patience(), 100us);
}

TEST_F(attempts_test, the_pause_is_49_times_what_the_failed_attempt_took) {
    EXPECT_LE(all_.wait(), 0ns);
    end(outcome::in_the_way, 100ms);
    EXPECT_GT(all_.wait(), 48 * 100ms - 1s);
    EXPECT_LE(all_.wait(), 50 * 100ms + 49s);  // the clock may have advanced by a second
    end(outcome::closed, 1us);
    EXPECT_GT(all_.wait(), 3s) << "a later attempt does not end the pause of an earlier one";
}

TEST_F(attempts_test, a_refused_attempt_counts_as_none_and_is_repeated_soon) {
    end(outcome::owed, 100ms);
    EXPECT_LE(all_.wait(), attempts::owed_pause);
    EXPECT_EQ(all_.patience(), 100us);
    EXPECT_EQ(all_.numbers().attempts, 0U);
    end(outcome::taken, 100ms);
    EXPECT_EQ(all_.numbers().attempts, 0U);
}

TEST_F(attempts_test, numbers_name_the_places_in_the_way) {
    end(outcome::closed, 1us);
    end(outcome::in_the_way, 2ms, 7);
    end(outcome::in_the_way, 1us, 7);
    end(outcome::in_the_way, 1us, 9);
    const gate_statistics n = all_.numbers();
    EXPECT_EQ(n.attempts, 4U);
    EXPECT_EQ(n.failures, 3U);
    EXPECT_EQ(n.failures_in_a_row, 3U);
    EXPECT_GE(n.longest_failure_ns, 2'000'000U);
    EXPECT_GE(n.failed_ns, 2'002'000U);
    EXPECT_EQ(n.last.where, 9U);
    EXPECT_EQ(n.last.times, 1U);
    EXPECT_EQ(n.worst.where, 7U);
    EXPECT_EQ(n.worst.times, 2U);
    EXPECT_EQ(n.worst.lane, 3U);
    end(outcome::closed, 1us);
    EXPECT_EQ(all_.numbers().failures_in_a_row, 0U);
}

TEST_F(attempts_test, of_many_places_the_worst_is_kept) {
    for (int i = 0; i < 3; ++i) end(outcome::in_the_way, 0us, 1);
    for (u64 place = 2; place < 100; ++place) end(outcome::in_the_way, 0us, place);
    EXPECT_EQ(all_.numbers().worst.where, 1U);
    EXPECT_EQ(all_.numbers().last.where, 99U);
}

}  // namespace
}  // namespace hf
