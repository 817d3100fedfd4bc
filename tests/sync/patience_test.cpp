// How long who waits takes a holder for a slow one.
#include "sync/patience.hpp"

#include <gtest/gtest.h>

#include <atomic>

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

}  // namespace
}  // namespace hf
