// The map from objects to changes of their counts: it finds what this transaction added, and
// nothing of earlier transactions.
#include "heap/count_map.hpp"

#include <gtest/gtest.h>

namespace hf::test {

TEST(count_map, finds_what_was_added_however_many_there_are) {
    for (const u64 stride : {u64{16}, u64{64}, u64{1} << 20}) {
        nv::count_map counts;
        for (const u64 objects : {u64{3}, u64{3000}, u64{40}}) {
            EXPECT_TRUE(counts.empty());
            for (u64 i = 1; i <= objects; ++i) {
                EXPECT_EQ(counts.find(i * stride), nullptr);
                nv::counted& c = counts[counts.index_of(i * stride)];
                EXPECT_EQ(c.by, 0);
                EXPECT_FALSE(c.fresh || c.queued || c.waited || c.dead || c.forsaken);
                c.by = static_cast<int>(i);
            }
            ASSERT_EQ(counts.all().size(), objects);
            for (u64 i = 1; i <= objects; ++i) {
                ASSERT_NE(counts.find(i * stride), nullptr);
                EXPECT_EQ(counts.find(i * stride)->by, static_cast<int>(i));
                EXPECT_EQ(counts[counts.index_of(i * stride)].offset, i * stride);
            }
            EXPECT_EQ(counts.find((objects + 1) * stride), nullptr);
            EXPECT_EQ(counts.all().size(), objects);
            counts.clear();
        }
    }
}

TEST(count_map, finds_nothing_of_a_past_transaction_when_stamps_wrap_around) {
    for (const u64 gap : {u64{1}, u64{254}, u64{255}, u64{256}, u64{510}}) {
        nv::stamped_count_map<u8> counts;
        for (u64 round = 0; round < 600; ++round) {
            if (round % gap == 0) {
                for (u64 i = 1; i <= 20; ++i) (void)counts.index_of(16 * i);
            } else {
                (void)counts.index_of(16'000);
                for (u64 i = 1; i <= 20; ++i) {
                    ASSERT_EQ(counts.find(16 * i), nullptr) << i << " in round " << round;
                }
            }
            counts.clear();
        }
    }
}

}  // namespace hf::test
