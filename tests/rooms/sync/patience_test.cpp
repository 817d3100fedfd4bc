// How long who waits takes a holder for a slow one.
#include "sync/patience.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace hf {
namespace {

class vigils : public ::testing::Test {
   protected:
    vigils() : usual_(longest_waits::lock_ns.exchange(1)) {}
    ~vigils() override { longest_waits::lock_ns = usual_; }

    static constexpr u64 node = 4096;
    static constexpr unsigned beyond_all_spins = 600;
    static void wait_long(vigil& v) {
        for (unsigned i = 0; i < beyond_all_spins; ++i) v.wait();
    }
    std::atomic<u64> stuck_{0};

   private:
    u64 usual_;
};

TEST_F(vigils, end_by_damage_where_nobody_gives_the_lock_back) {
    vigil v(stuck_, node);
    EXPECT_THROW(wait_long(v), damage);
    EXPECT_EQ(stuck_, node);
}

TEST_F(vigils, do_not_end_while_anybody_waits_for_a_disk) {
    stuck_ = node;  // nor where one has ended before
    {
        vigil v(stuck_, node);
        {
            const held_up by_a_disk;
            EXPECT_NO_THROW(wait_long(v));
        }
        EXPECT_FALSE(held_up::is_anybody());
    }
    EXPECT_EQ(stuck_, 0U);
    vigil v(stuck_, node);
    EXPECT_THROW(wait_long(v), damage);
}

// A process that was stopped, or a machine that slept, finds much time between two readings of the
// clock.
constexpr auto stopped = std::chrono::milliseconds(250);
constexpr u64 counted_ns = 100'000'000;

TEST(time_waited, counts_a_tenth_of_a_second_of_the_time_of_a_stopped_process) {
    time_waited w;
    EXPECT_EQ(w.look(), 0U);
    std::this_thread::sleep_for(stopped);
    EXPECT_EQ(w.look(), counted_ns);
    EXPECT_GE(w.look(), counted_ns);
}

TEST_F(vigils, go_on_after_a_stop_that_is_longer_than_they_last) {
    longest_waits::lock_ns = 2 * counted_ns;
    vigil v(stuck_, node);
    for (unsigned i = 0; i < 256; ++i) v.wait();  // until it reads the clock
    std::this_thread::sleep_for(stopped);
    EXPECT_NO_THROW(v.wait());
    EXPECT_EQ(stuck_, 0U);
}

TEST_F(vigils, count_anew_after_a_wait_for_a_disk) {
    longest_waits::lock_ns = counted_ns * 3 / 2;
    vigil v(stuck_, node);
    for (unsigned i = 0; i < 256; ++i) v.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    v.wait();  // two thirds of the time are over
    {
        const held_up by_a_disk;
        v.wait();
    }
    v.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    EXPECT_NO_THROW(v.wait());
}

class restarts : public ::testing::Test {
   protected:
    restarts() : usual_(longest_waits::again_ns.exchange(2 * counted_ns)) {}
    ~restarts() override { longest_waits::again_ns = usual_; }
    std::atomic<bool> known_{false};

   private:
    u64 usual_;
};

TEST_F(restarts, go_on_after_a_stop_that_is_longer_than_they_last) {
    patience p(known_);
    for (unsigned i = 0; i < 257; ++i) p.again(4096);
    std::this_thread::sleep_for(stopped);
    EXPECT_NO_THROW(p.again(4096));
    EXPECT_FALSE(known_);
}

TEST_F(restarts, end_by_damage_and_sooner_where_damage_is_known) {
    longest_waits::again_ns = 1;
    const auto restart = [&](unsigned times) {
        patience p(known_);
        for (unsigned i = 0; i < times; ++i) p.again(4096);
    };
    EXPECT_NO_THROW(restart(255));
    EXPECT_THROW(restart(600), damage);
    EXPECT_TRUE(known_);
    EXPECT_NO_THROW(restart(63));
    EXPECT_THROW(restart(64), damage);
}

TEST_F(restarts, count_anew_after_progress) {
    known_ = true;
    patience p(known_);
    for (unsigned i = 0; i < 200; ++i) {
        p.reset();
        for (unsigned k = 0; k < 63; ++k) p.again(4096);
    }
}

}  // namespace
}  // namespace hf
