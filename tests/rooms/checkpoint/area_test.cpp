// Which sets of failed epochs a superblock may hold.
#include "checkpoint/checkpoint_area.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace hf {
namespace {

checkpoint_area area_of(const std::vector<epoch_range>& ranges) {
    checkpoint_area c{};
    c.failed_count = static_cast<u32>(ranges.size());
    std::copy(ranges.begin(), ranges.end(), c.failed.begin());
    return c;
}

/// A1, by counting: each range adds epochs, all above those before, with one left out between.
bool is_right(const std::vector<epoch_range>& ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].last < ranges[i].first) return false;
        if (i > 0 && (ranges[i].first < 2 || ranges[i].first - 2 < ranges[i - 1].last))
            return false;
    }
    return true;
}

TEST(checkpoint_area, holds_ranges_that_are_sorted_disjoint_not_adjacent_and_not_empty) {
    std::vector<epoch_range> every;
    for (u64 first = 0; first < 6; ++first) {
        for (u64 last = 0; last < 6; ++last) every.push_back({first, last});
    }
    every.push_back({~u64{0}, ~u64{0}});
    every.push_back({5, ~u64{0}});
    EXPECT_TRUE(is_possible(area_of({})));
    for (const epoch_range a : every) {
        EXPECT_EQ(is_possible(area_of({a})), is_right({a}));
        for (const epoch_range b : every) {
            EXPECT_EQ(is_possible(area_of({a, b})), is_right({a, b}))
                << a.first << '-' << a.last << ' ' << b.first << '-' << b.last;
            for (const epoch_range c : every) {
                ASSERT_EQ(is_possible(area_of({a, b, c})), is_right({a, b, c}))
                    << a.first << '-' << a.last << ' ' << b.first << '-' << b.last << ' ' << c.first
                    << '-' << c.last;
            }
        }
    }
}

TEST(checkpoint_area, holds_as_many_ranges_as_there_is_room_for) {
    checkpoint_area c{};
    for (u32 i = 0; i < max_failed_ranges; ++i) c.failed[i] = {3 * i + 1, 3 * i + 2};
    for (const u32 count : {u32{0}, u32{1}, max_failed_ranges - 1, max_failed_ranges}) {
        c.failed_count = count;
        EXPECT_TRUE(is_possible(c)) << count;
    }
    struct {
        checkpoint_area area;
        epoch_range behind[2];  // which would do
    } all{c, {}};
    for (u32 i = 0; i < 2; ++i) {
        const u64 next = 3 * (max_failed_ranges + i) + 1;
        all.behind[i] = {next, next};
    }
    for (const u32 count : {max_failed_ranges + 1, max_failed_ranges + 2, ~u32{0}}) {
        all.area.failed_count = count;
        EXPECT_FALSE(is_possible(all.area)) << count;
    }
    c.failed_count = max_failed_ranges;
    c.failed[max_failed_ranges - 1].last = 1;
    EXPECT_FALSE(is_possible(c)) << "the last one counts, too";
}

}  // namespace
}  // namespace hf
