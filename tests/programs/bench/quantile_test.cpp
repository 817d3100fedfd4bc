#include "bench/quantile.hpp"

#include <gtest/gtest.h>

namespace hf::bench {
namespace {

TEST(quantile, is_zero_of_nothing) { EXPECT_EQ(quantile({}, 0.5), 0); }

TEST(quantile, of_one_value_is_that_value) {
    EXPECT_EQ(quantile({7}, 0), 7);
    EXPECT_EQ(quantile({7}, 0.3), 7);
    EXPECT_EQ(quantile({7}, 1), 7);
}

TEST(quantile, ends_are_least_and_greatest) {
    EXPECT_EQ(quantile({3, 1, 2}, 0), 1);
    EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
}

TEST(quantile, lies_between_two_values_in_proportion) {
    EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.25), 2.5);
    EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_DOUBLE_EQ(median({5, 1, 3}), 3);
}

TEST(pairwise_ratios, compare_repetition_by_repetition) {
    EXPECT_EQ(pairwise_ratios({1, 6}, {2, 3}), (std::vector<double>{0.5, 2}));
}

TEST(pairwise_ratios, leave_out_what_has_no_partner) {
    EXPECT_EQ(pairwise_ratios({1, 6, 9}, {2, 0}), (std::vector<double>{0.5}));
    EXPECT_TRUE(pairwise_ratios({1}, {}).empty());
}

/// A machine that slows down to a tenth half way changes no ratio.
TEST(pairwise_ratios, do_not_see_a_disturbance_that_both_saw) {
    EXPECT_DOUBLE_EQ(median(pairwise_ratios({9, 9, 0.9, 0.9, 0.9}, {10, 10, 1, 1, 1})), 0.9);
}

}  // namespace
}  // namespace hf::bench
