// The histogram against sorted values.
#include "base/histogram.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hf {
namespace {

TEST(histogram, an_empty_one_answers_zero) {
    const histogram h;
    EXPECT_EQ(h.count(), 0U);
    EXPECT_EQ(h.percentile(50), 0U);
    EXPECT_EQ(h.max(), 0U);
    EXPECT_EQ(h.min(), 0U);
    EXPECT_EQ(h.mean(), 0.0);
}

TEST(histogram, small_values_are_exact) {
    histogram h;
    for (u64 v = 0; v < 128; ++v) h.add(v);
    EXPECT_EQ(h.percentile(0), 0U);
    EXPECT_EQ(h.percentile(50), 63U);
    EXPECT_EQ(h.percentile(100), 127U);
    EXPECT_EQ(h.mean(), 63.5);
}

TEST(histogram, takes_the_largest_number) {
    histogram h;
    h.add(std::numeric_limits<u64>::max());
    EXPECT_EQ(h.percentile(50), std::numeric_limits<u64>::max());
    EXPECT_EQ(h.max(), std::numeric_limits<u64>::max());
}

RC_GTEST_PROP(histogram, a_percentile_is_at_most_a_64th_above_the_true_value,
              (std::vector<u64> values, u8 percent)) {
    RC_PRE(!values.empty());
    const double p = percent % 101;
    histogram h;
    for (u64& v : values) {
        v >>= v % 61;  // all magnitudes
        h.add(v);
    }
    std::sort(values.begin(), values.end());
    const auto rank = static_cast<std::size_t>(
        std::max(1.0, std::ceil(p / 100.0 * static_cast<double>(values.size()))));
    const u64 exact = values[rank - 1];
    RC_ASSERT(h.percentile(p) >= exact);
    RC_ASSERT(h.percentile(p) - exact <= exact / 64);
    RC_ASSERT(h.max() == values.back());
    RC_ASSERT(h.min() == values.front());
}

RC_GTEST_PROP(histogram, merging_is_adding_everything_to_one,
              (const std::vector<u64>& left, const std::vector<u64>& right, u8 percent)) {
    histogram a;
    histogram b;
    histogram both;
    for (const u64 v : left) {
        a.add(v);
        both.add(v);
    }
    for (const u64 v : right) {
        b.add(v);
        both.add(v);
    }
    a.merge(b);
    RC_ASSERT(a.count() == both.count());
    RC_ASSERT(a.max() == both.max());
    RC_ASSERT(a.percentile(percent % 101) == both.percentile(percent % 101));
}

}  // namespace
}  // namespace hf
