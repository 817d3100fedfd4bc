// The geometry: size classes, and the index of free runs against a map of single pages.
#include "alloc/geometry.hpp"

#include "alloc/committed/layout.hpp"
#include "alloc/free_runs.hpp"
#include "base/random.hpp"
#include "support/full_disk.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hf {
namespace {

TEST(size_class, every_size_gets_the_smallest_block_that_holds_it) {
    for (const class_range range : {class_range::coarse, class_range::fine}) {
        for (u64 size = 1; size <= largest_block; ++size) {
            const u32 c = class_of_block(size, range);
            ASSERT_LT(c, classes_in(range));
            ASSERT_GE(block_size(c), size);
            for (u32 other = 0; other < classes_in(range); ++other) {
                ASSERT_FALSE(block_size(other) >= size && block_size(other) < block_size(c))
                    << size;
            }
            ASSERT_EQ(block_size(c) % 16, 0U);
        }
    }
    for (u32 c = 0; c < block_classes; ++c) {
        EXPECT_LE(u64{slab_blocks(c)} * block_size(c), u64{slab_pages(c)} * layout::page_size);
        EXPECT_LT(slab_blocks(c), 1U << 16);
    }
}

// They lie on the medium.
TEST(size_class, of_format_1_has_the_number_that_it_had) {
    for (u32 c = 0; c < coarse_classes; ++c) {
        const u32 doubling = (c - 7) / 4;
        const u32 size =
            c < 7 ? 32 + 16 * c : (128U << doubling) + ((c - 7) % 4 + 1) * (32U << doubling);
        EXPECT_EQ(block_size(c), size) << c;
    }
    const std::vector<u32> later{144,  176,  208,  240,  272,  288,  304,  336,  352,  368,  400,
                                 416,  432,  464,  480,  496,  544,  576,  608,  672,  704,  736,
                                 800,  832,  864,  928,  960,  992,  1088, 1152, 1216, 1344, 1408,
                                 1472, 1600, 1664, 1728, 1856, 1920, 1984, 2304, 2816, 3328, 3840};
    ASSERT_EQ(coarse_classes + later.size(), block_classes);
    for (u32 i = 0; i < later.size(); ++i) EXPECT_EQ(block_size(coarse_classes + i), later[i]);
}

TEST(size_class, wastes_little_of_a_block_and_of_a_slab) {
    for (u32 i = 1; i < block_classes; ++i) {
        const u32 c = classes_by_size()[i];
        const u32 before = block_size(classes_by_size()[i - 1]);
        ASSERT_LT(before, block_size(c));
        if (before >= 256 && before < 2048) {
            EXPECT_LE(block_size(c) - before, before / 16);
        }
        if (slab_pages(c) > 1) continue;
        EXPECT_NE(slab_blocks(c), slab_blocks(classes_by_size()[i - 1])) << "of no use";
        EXPECT_GT(slab_blocks(c) * block_size(c), page_size * 96 / 100) << block_size(c);
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

using test::must;

TEST(first_size, leaves_pages_to_logs_and_passes_on_what_is_to_be_refused) {
    const u64 bound = 160 * page_size;
    EXPECT_EQ(first_size(page_size, bound), page_size);
    EXPECT_EQ(first_size(bound, bound), 158 * page_size);
    EXPECT_EQ(first_size(159 * page_size, bound), 158 * page_size);
    EXPECT_EQ(first_size(bound + 1, bound), bound + 1) << "more than allowed";
    EXPECT_EQ(first_size(bound, 0), bound) << "no bound";
}

TEST(pages_left_for_log, are_half_of_them_for_who_has_one_and_the_last_for_lane_0) {
    region_options o;
    o.kind = discipline::transaction;
    o.max_size = u64{64} << 20;
    const auto r = test::must(region::create_volatile(u64{1} << 20, o));
    const u64 kept = kept_from_heap(r->max_pages());
    ASSERT_EQ(kept, 4U);
    const auto add = [&](u16 owner) { test::must(r->grow(segment_kind::log, 1, owner)); };
    EXPECT_EQ(pages_left_for_log(*r, 0), kept);
    EXPECT_EQ(pages_left_for_log(*r, 1), kept - 1) << "lane 0 has none";
    add(1);
    EXPECT_EQ(pages_left_for_log(*r, 0), kept - 1);
    EXPECT_EQ(pages_left_for_log(*r, 1), kept - 1 - kept / 2);
    EXPECT_EQ(pages_left_for_log(*r, 2), kept - 1 - 1);
    add(0);
    EXPECT_EQ(pages_left_for_log(*r, 0), kept - 2 - kept / 2);
    EXPECT_EQ(pages_left_for_log(*r, 2), kept - 2);
    test::must(r->grow(segment_kind::heap, 1, 0));
    EXPECT_EQ(pages_left_for_log(*r, 2), kept - 2) << "what a heap has is none of theirs";
    add(2);
    add(3);
    for (u16 lane = 0; lane < 5; ++lane) EXPECT_EQ(pages_left_for_log(*r, lane), 0U);
}

TEST(grow_heap,
     leaves_a_share_to_second_slots_where_there_are_some_and_they_leave_the_logs_theirs) {
    for (const bool has_slots : {false, true}) {
        region_options o;
        o.kind = discipline::transaction;
        o.max_size = u64{8} << 20;  // 128 pages, of which 8 are for slots
        const auto r = test::must(region::create_volatile(u64{1} << 20, o));
        const u64 kept = r->med().is_atomic() ? 0 : kept_from_heap(r->max_pages());
        if (has_slots) test::must(r->grow(segment_kind::slots, 2, 0));
        while (grow_heap(*r, 1)) continue;
        const u64 left = r->max_pages() - r->size() / page_size;
        EXPECT_EQ(left, kept + (has_slots ? kept_for_slots(128) - 2 : 0));
        EXPECT_EQ(pages_left_for_slots(*r), left - kept);
        if (kept != 0) test::must(r->grow(segment_kind::log, 1, 0));
        EXPECT_EQ(pages_left_for_slots(*r), left - kept) << "the log took of its own share";
    }
}

TEST(first_size, leaves_two_logs_and_a_256th_of_a_large_region) {
    EXPECT_EQ(kept_from_heap(2), 1U);
    EXPECT_EQ(kept_from_heap(4), 2U);
    EXPECT_EQ(kept_from_heap(256), 2U);
    EXPECT_EQ(kept_from_heap(767), 2U);
    EXPECT_EQ(kept_from_heap(768), 3U);
    EXPECT_EQ(kept_from_heap(1 << 20), 1U << 12);
    EXPECT_EQ(kept_for_slots(4), 2U);
    EXPECT_EQ(kept_for_slots(40), 5U);
    EXPECT_EQ(kept_for_slots(128), 8U);
    EXPECT_EQ(kept_for_slots(320), 10U);
    EXPECT_EQ(first_size(u64{64} << 20, u64{64} << 20), (u64{64} << 20) - 4 * page_size);
}

/// Pages of the region's segments of a kind.
u64 pages_of_kind(const region& r, segment_kind kind) {
    u64 sum = 0;
    for (const segment& s : r.segments()) sum += s.kind == kind ? s.pages : 0;
    return sum;
}

class heap_growth : public test::on_tmpfs {
   protected:
    std::unique_ptr<region> made(u64 pages, u64 most_pages) {
        region_options o;
        o.initial_size = pages * page_size;
        o.max_size = most_pages * page_size;
        return must(region::open(file, o));
    }
};

TEST_F(heap_growth, leaves_a_256th_to_segments_of_other_kinds) {
    auto r = made(10, 2560);
    ASSERT_TRUE(r->grow(segment_kind::log, 4, 0));
    while (true) {
        const u64 before = r->size();
        auto grown = grow_heap(*r, 1);
        if (!grown) {
            EXPECT_EQ(grown.error().code, errc::no_space);
            EXPECT_NE(grown.error().why.find("there are 0 left"), std::string::npos)
                << grown.error().to_string();
            break;
        }
        EXPECT_EQ(grown->kind, segment_kind::heap);
        EXPECT_EQ(r->size(), before + grown->pages * page_size);
    }
    EXPECT_EQ(pages_of_kind(*r, segment_kind::heap), 2550U - 1) << "but the header";
    EXPECT_TRUE(r->grow(segment_kind::log, 6, 0)) << "what was left";
    EXPECT_FALSE(r->grow(segment_kind::log, 1, 0));
}

TEST_F(heap_growth, takes_an_eighth_of_the_region_or_64_MiB_if_that_is_more) {
    region_options o;
    o.max_size = u64{1} << 36;
    auto r = must(region::create_volatile(100 * page_size, o));
    EXPECT_EQ(must(grow_heap(*r, 1)).pages, 1024U);
    EXPECT_EQ(must(grow_heap(*r, 2000)).pages, 2000U) << "what is needed";
    ASSERT_TRUE(r->grow(segment_kind::log, 16000, 0));
    EXPECT_EQ(must(grow_heap(*r, 1)).pages, (100U + 1024 + 2000 + 16000) / 8);
}

TEST_F(heap_growth, gives_what_is_needed_where_just_that_is_left) {
    auto r = made(10, 160);
    EXPECT_FALSE(grow_heap(*r, 149));
    EXPECT_EQ(pages_of_kind(*r, segment_kind::heap), 10U - 1);
    EXPECT_EQ(must(grow_heap(*r, 148)).pages, 148U);
    EXPECT_FALSE(grow_heap(*r, 1));
}

TEST_F(heap_growth, asks_a_disk_that_is_nearly_full_for_less_and_less) {
    auto r = made(100, 1 << 20);
    const test::full_disk full((100 + 30) * page_size);
    EXPECT_EQ(must(grow_heap(*r, 1)).pages, 16U) << "1024, 128, 16";
    EXPECT_EQ(must(grow_heap(*r, 9)).pages, 9U);
    EXPECT_EQ(must(grow_heap(*r, 1)).pages, 2U) << "1024, 128, 16, 2";
    const auto refused = grow_heap(*r, 4);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::no_space);
    EXPECT_EQ(pages_of_kind(*r, segment_kind::heap), 127U - 1);
}

TEST_F(heap_growth, of_a_region_that_may_not_be_written_is_denied) {
    made(10, 160).reset();
    region_options o;
    o.mode = open_mode::inspect;
    const auto r = must(region::open(file, o));
    const auto refused = grow_heap(*r, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::denied);
}

}  // namespace
}  // namespace hf
