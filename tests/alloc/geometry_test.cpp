// The geometry: size classes, and the index of free runs against a map of single pages.
#include "alloc/geometry.hpp"

#include "alloc/committed/layout.hpp"
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

TEST(size_class, a_slab_has_the_fewest_pages_for_16_blocks_and_as_many_blocks_as_they_hold) {
    for (u32 c = 0; c < block_classes; ++c) {
        const u64 size = block_size(c);
        EXPECT_GE(slab_pages(c) * page_size, 16 * size);
        EXPECT_TRUE(slab_pages(c) == 1 || (slab_pages(c) - 1) * page_size < 16 * size) << c;
        EXPECT_LE(slab_blocks(c) * size, slab_pages(c) * page_size);
        EXPECT_GT((slab_blocks(c) + 1) * size, slab_pages(c) * page_size);
        EXPECT_LE(slab_blocks(c), committed::bit_words * 64);
    }
    EXPECT_EQ(class_of_block(0), 0U);
    for (u64 n = 0; n < 5 * page_size; ++n) {
        ASSERT_EQ(pages_of(n), n / page_size + (n % page_size != 0));
        ASSERT_EQ(extent_pages(n), pages_of(n + 16));
        ASSERT_EQ(is_large(n), n > largest_block - 16);
    }
}

TEST(page_run, is_what_it_was_packed_from_and_has_at_least_one_page) {
    for (u64 use = 0; use < 16; ++use) {
        for (const u32 c : {0U, 1U, 255U}) {
            for (const u64 pages : {u64{0}, u64{1}, u64{2}, (u64{1} << 32) - 1}) {
                const auto back = page_run::unpack(page_run{page_use(use), c, pages}.pack());
                EXPECT_EQ(static_cast<u64>(back.use), use);
                EXPECT_EQ(back.size_class, c);
                EXPECT_EQ(back.pages, pages == 0 ? 1 : pages);
            }
        }
    }
}

TEST(page_run, is_possible_where_it_has_room_and_a_slab_is_as_long_as_its_class_demands) {
    for (u64 use = 0; use < 16; ++use) {
        for (u32 c = 0; c < block_classes + 8; ++c) {
            for (u64 pages = 1; pages <= 100; ++pages) {
                for (const u64 room : {pages - 1, pages, pages + 1}) {
                    const bool is_slab = use == 1 && c < block_classes && pages == slab_pages(c);
                    const bool expected = room >= pages && (use == 0 || use == 2 || is_slab);
                    ASSERT_EQ(is_possible({page_use(use), c, pages}, room), expected)
                        << use << " " << c << " " << pages << " " << room;
                }
            }
        }
    }
}

TEST(heap_span, contains_its_pages) {
    for (u64 first = 0; first < 4; ++first) {
        for (u64 pages = 0; pages < 4; ++pages) {
            const heap_span s{first * page_size, pages};
            for (u64 o = 0; o < 10 * page_size; o += page_size / 2) {
                const u64 page = o / page_size;
                ASSERT_EQ(s.contains(o), page >= first && page < first + pages);
                if (!s.contains(o)) continue;
                ASSERT_EQ(s.page_of(o), page - first);
                ASSERT_EQ(s.offset_of(page - first), page * page_size);
            }
        }
    }
}

TEST(committed_layout, a_grown_segment_is_the_smallest_that_has_room_for_what_is_asked) {
    const auto room_in = [](u64 pages) { return pages - committed::own_pages(pages); };
    for (u64 pages = 1; pages < 500'000; pages += 1 + pages / 500) {
        const u64 all = committed::pages_around(pages);
        ASSERT_GE(room_in(all), pages);
        ASSERT_LT(room_in(all - 1), pages);
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
