// The geometry: size classes, and the index of free runs against a map of single pages.
#include "alloc/geometry.hpp"

#include "alloc/free_runs.hpp"
#include "base/random.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hf {
namespace {

TEST(size_class, every_size_gets_the_smallest_block_that_holds_it) {
    for (u64 size = 1; size <= largest_block; ++size) {
        const u32 c = class_of_block(size);
        ASSERT_GE(block_size(c), size);
        ASSERT_TRUE(c == 0 || block_size(c - 1) < size) << size;
        ASSERT_EQ(block_size(c) % 16, 0U);
    }
    for (u32 c = 0; c < block_classes; ++c) {
        EXPECT_LE(u64{slab_blocks(c)} * block_size(c), u64{slab_pages(c)} * layout::page_size);
        EXPECT_LT(slab_blocks(c), 1U << 16);
    }
}

TEST(free_runs, hands_out_what_is_free_once_and_joins_what_touches) {
    for (u64 seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        constexpr u64 pages = 200;
        xoshiro256ss r(seed);
        free_runs index;
        index.insert(0, pages);
        std::set<u64> free;
        for (u64 p = 0; p < pages; ++p) free.insert(p);
        std::vector<std::pair<u64, u64>> taken;
        for (int step = 0; step < 2000; ++step) {
            if (taken.empty() || r.below(2) == 0) {
                const u64 want = 1 + r.below(12);
                const auto found = index.take(want, [](u64) { return true; });
                u64 longest = 0;
                u64 run = 0;
                for (u64 p = 0; p < pages; ++p) {
                    run = free.contains(p) ? run + 1 : 0;
                    longest = std::max(longest, run);
                }
                ASSERT_EQ(found.pages != 0, longest >= want);
                if (found.pages == 0) continue;
                for (u64 i = 0; i < want; ++i) {
                    ASSERT_EQ(free.erase(found.offset / page_size + i), 1U);
                }
                taken.emplace_back(found.offset, want);
            } else {
                const u64 i = r.below(taken.size());
                index.insert(taken[i].first, taken[i].second);
                for (u64 p = 0; p < taken[i].second; ++p) {
                    free.insert(taken[i].first / page_size + p);
                }
                taken[i] = taken.back();
                taken.pop_back();
            }
        }
    }
}

TEST(free_runs, passes_over_what_may_not_be_taken) {
    free_runs index;
    index.insert(page_size, 2);
    index.insert(10 * page_size, 5);
    const auto found = index.take(2, [](u64 offset) { return offset != page_size; });
    EXPECT_EQ(found.offset, 10 * page_size);
    EXPECT_EQ(index.take(2, [](u64) { return true; }).offset, page_size);
}

}  // namespace
}  // namespace hf
