// The committed heap's words at the edges: which are its own, and what its audit makes of each.
#include "alloc/committed/audit_view.hpp"
#include "alloc/committed_heap.hpp"
#include "base/random.hpp"
#include "support/must.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace hf {
namespace {

using committed::segment_header;
using test::must;

/// Segments of 8 and 40 pages, and one that is no heap's between them.
class committed_rules_test : public ::testing::Test {
   protected:
    void SetUp() override {
        region_options o;
        o.max_size = u64{1} << 30;  // not for ever, should a mistake make it grow
        region_ = must(region::create_volatile(9 * page_size, o));
        static_cast<void>(must(region_->grow(segment_kind::log, 3, 0)));
        static_cast<void>(must(region_->grow(segment_kind::heap, 40, 0)));
        small_ = span_of(0);
        large_ = span_of(2);
    }
    heap_span span_of(std::size_t i) const {
        const segment s = region_->segments()[i];
        return {s.offset, s.pages};
    }
    committed::word& word_at(u64 offset) { return *region_->at<committed::word>(offset); }
    void put(const heap_span& s, u64 page, const page_run& run) {
        word_at(committed::descriptor_of(s, page)) = run.pack();
    }
    audit_report look() {
        audit_report report;
        committed::view books(*region_);
        heap_audit audit(*region_, books, report);
        audit.read_runs();
        return report;
    }
    void commit(heap_batch& b) {
        static_cast<void>(b.changes());
        b.apply();
        b.settle();
    }

    std::unique_ptr<region> region_;
    heap_span small_{};
    heap_span large_{};
};

TEST_F(committed_rules_test, opening_and_audit_agree_on_what_a_header_may_be) {
    constexpr u64 magic = segment_header::magic_value;
    const u64 first = committed::own_pages(large_.pages);
    const struct {
        u64 magic;
        u64 first_usable;
        bool is_good;
    } cases[] = {{magic, first, true},      {0, 0, true},           {0, 99, true},
                 {magic, first + 1, false}, {magic, 0, false},      {magic + 1, first, false},
                 {1, first, false},         {magic + 1, 99, false}, {magic, 99, false}};
    auto& header = *region_->at<segment_header>(large_.offset);
    for (const auto& c : cases) {
        header.magic = c.magic;
        header.first_usable = c.first_usable;
        const audit_report report = look();
        EXPECT_EQ(report.ok(), c.is_good) << report.to_string();
        EXPECT_EQ(report.complete(), c.is_good);
        EXPECT_EQ(
            report.to_string().find("header of a heap segment is damaged") == std::string::npos,
            c.is_good);
        const auto opened = committed_heap(*region_).open();
        ASSERT_EQ(opened.has_value(), c.is_good) << c.magic << " " << c.first_usable;
        if (c.is_good) {
            EXPECT_TRUE(header.magic == magic && header.first_usable == first);
        } else {
            EXPECT_EQ(opened.error().code, errc::corrupt);
        }
    }
}

TEST_F(committed_rules_test, a_segment_without_a_page_to_hand_out_is_damage) {
    static_cast<void>(must(region_->grow(segment_kind::heap, 2, 0)));
    must(committed_heap(*region_).open());
    EXPECT_TRUE(look().ok());
    static_cast<void>(must(region_->grow(segment_kind::heap, 1, 0)));
    EXPECT_FALSE(committed_heap(*region_).open().has_value());
    EXPECT_FALSE(look().complete());
}

TEST_F(committed_rules_test, a_log_may_change_the_words_of_pages_and_blocks_and_no_others) {
    const auto segments = region_->segments();
    for (const segment& s : segments) {
        const u64 end = s.offset + committed::own_bytes(s.pages);
        for (u64 at = s.offset - 32; at < end + 32; at += 4) {
            const committed::word_change change{at, 0, 0};
            const bool is_word = s.kind == segment_kind::heap && at % 8 == 0 &&
                                 at >= s.offset + sizeof(segment_header) && at < end;
            ASSERT_EQ(committed::reapply(*region_, {&change, 1}).has_value(), is_word)
                << at - s.offset;
        }
    }
}

TEST_F(committed_rules_test, leaves_the_segments_of_others_alone) {
    committed_heap heap(*region_);
    must(heap.open());
    heap_batch b(heap);
    const heap_span log = span_of(1);
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(log.contains(must(b.reserve(40'000))));
    for (u64 at = log.offset; at < log.offset_of(log.pages); at += 8) ASSERT_EQ(word_at(at), 0U);
}

TEST_F(committed_rules_test, bits_are_of_blocks) {
    const u64 page = committed::own_pages(large_.pages);
    for (u32 c = 0; c < block_classes; ++c) {
        const u32 blocks = slab_blocks(c);
        put(large_, page, {page_use::slab, c, slab_pages(c)});
        std::vector<u32> bits{0, blocks - 1, blocks, blocks + 1, blocks / 64 * 64, 2047};
        for (u32 w = 0; w < 32; ++w) bits.insert(bits.end(), {64 * w, 64 * w + 63});
        for (const u32 bit : bits) {
            if (bit >= 2048) continue;
            const u64 at = committed::bits_of(large_, page) + bit / 64 * 8;
            word_at(at) = u64{1} << (bit % 64);
            const audit_report report = look();
            word_at(at) = 0;
            ASSERT_EQ(report.ok(), bit < blocks) << "class " << c << ", block " << bit;
            if (bit < blocks) continue;
            ASSERT_EQ(report.violations().front().offset, at);
        }
    }
}

TEST_F(committed_rules_test, nothing_is_said_of_pages_where_nothing_begins) {
    const u64 page = committed::own_pages(large_.pages);
    for (const page_use use : {page_use::free, page_use::extent, page_use::slab}) {
        const u32 c = use == page_use::slab ? class_of_block(largest_block) : 0;
        if (use != page_use::free) put(large_, page, {use, c, 16});
        put(large_, page + 16, {page_use::extent, 0, 1});  // what follows may begin
        EXPECT_TRUE(look().ok()) << look().to_string();
        for (u64 i = 0; i < 16; ++i) {
            const u64 bits = committed::bits_of(large_, page + i);
            word_at(bits) = 1;
            EXPECT_EQ(look().ok(), use == page_use::slab && i == 0) << i;
            word_at(bits) = 0;
            if (use == page_use::free || i == 0) continue;
            put(large_, page + i, {page_use::extent, 0, 1});
            EXPECT_EQ(look().violation_count(), 1U);
            word_at(committed::descriptor_of(large_, page + i)) = 0;
        }
    }
    put(large_, page, {page_use::system, 0, 1});
    EXPECT_NE(look().to_string().find("where none belongs"), std::string::npos);
}

TEST_F(committed_rules_test, the_audit_counts_each_bit_once) {
    xoshiro256ss r(1);
    u64 page = committed::own_pages(large_.pages);
    std::array<u64, block_classes> expected{};
    for (const u32 c : {0U, 0U, 3U, 7U, class_of_block(largest_block), 1U}) {
        put(large_, page, {page_use::slab, c, slab_pages(c)});
        for (u32 block = 0; block < slab_blocks(c); ++block) {
            if (block != 0 && r.below(3) == 0) continue;
            word_at(committed::bits_of(large_, page) + block / 64 * 8) |= u64{1} << (block % 64);
            ++expected[c];
        }
        page += slab_pages(c);
    }
    put(large_, page, {page_use::extent, 0, 3});
    for (const bool is_deep : {false, true}) {
        audit_report report;
        committed::view books(*region_);
        heap_audit audit(*region_, books, report);
        audit.read_runs();
        is_deep ? audit.read_free() : audit.read_counters();
        EXPECT_EQ(report.heap.extent_pages_handed_out, 3U);
        for (u32 c = 0; c < block_classes; ++c) {
            const auto& of = report.heap.classes[c];
            EXPECT_EQ(of.handed_out, expected[c]);
            EXPECT_EQ(of.free, is_deep ? of.blocks - expected[c] : 0);
        }
    }
}

TEST_F(committed_rules_test, a_free_run_ends_where_something_begins_or_the_segment_ends) {
    const u64 first = committed::own_pages(large_.pages);
    const committed::descriptors words{*region_};
    for (u64 begins = first + 1; begins <= large_.pages; ++begins) {
        if (begins < large_.pages) put(large_, begins, {page_use::extent, 0, 1});
        for (u64 page = first; page < begins; ++page) {
            const page_run run = words.run_at(large_, page);
            ASSERT_EQ(run.use, page_use::free);
            ASSERT_EQ(run.pages, begins - page);
        }
        if (begins < large_.pages) word_at(committed::descriptor_of(large_, begins)) = 0;
    }
}

TEST_F(committed_rules_test, every_size_is_placed_logged_and_freed_as_what_it_is) {
    committed_heap heap(*region_);
    must(heap.open());
    std::vector<u64> sizes{
        1, largest_block - 1, largest_block, largest_block + 1, 2 * page_size, 2 * page_size + 1};
    for (u32 c = 0; c < block_classes; c += 5)
        sizes.insert(sizes.end(), {block_size(c), block_size(c) + 1});
    for (const u64 size : sizes) {
        const bool is_block = size <= largest_block;
        heap_batch b(heap);
        const u64 offset = must(b.reserve(size));
        const std::size_t words = b.changes().size();
        EXPECT_TRUE(is_block ? words >= 1 && words <= 2 : words == 1) << size;
        b.apply();
        b.settle();
        const audit_report report = look();
        EXPECT_EQ(report.heap.extents, is_block ? 0U : 1U) << size;
        EXPECT_EQ(report.heap.extent_pages, is_block ? 0U : pages_of(size)) << size;
        b.release(offset, size);
        ASSERT_EQ(b.changes().size(), 1U);
        EXPECT_EQ(b.changes()[0].clear == ~u64{0}, !is_block);
        b.apply();
        b.settle();
        EXPECT_EQ(look().heap.extents, 0U);
    }
}

TEST_F(committed_rules_test, knows_the_slab_of_every_page) {
    const u64 page = committed::own_pages(large_.pages);
    put(large_, page + 2, {page_use::slab, 0, 1});
    put(large_, page + 3, {page_use::slab, class_of_block(largest_block), 16});
    put(small_, small_.pages - 1, {page_use::slab, 1, 1});
    committed::page_space space(*region_);
    must(space.open());
    const auto expected = [&](u64 offset) -> u64 {
        if (small_.contains(offset) && small_.page_of(offset) == small_.pages - 1) {
            return small_.offset_of(small_.pages - 1);
        }
        if (!large_.contains(offset)) return 0;
        const u64 at = large_.page_of(offset);
        if (at == page + 2) return large_.offset_of(at);
        return at >= page + 3 && at < page + 19 ? large_.offset_of(page + 3) : 0;
    };
    for (u64 offset = 0; offset < region_->size() + 3 * page_size; offset += page_size / 2) {
        const committed::slab* s = space.slab_of(offset);
        ASSERT_EQ(s == nullptr ? 0 : s->offset, expected(offset)) << offset;
    }
}

TEST_F(committed_rules_test, a_slab_that_is_half_free_is_taken_over_by_another_shard) {
    constexpr u32 half = slab_blocks(0) / 2;
    for (const u32 taken : {half - 1, half, half + 1}) {
        committed_heap heap(*region_);
        must(heap.open());
        heap_batch one(heap, 0);
        heap_batch two(heap, 1);
        u64 last = 0;
        for (u32 i = 0; i < taken; ++i) last = must(one.reserve(16));
        const u64 other = must(two.reserve(16));
        EXPECT_EQ(other / page_size == last / page_size, taken <= half) << taken;
        const u64 next = must(one.reserve(16));
        EXPECT_EQ(next / page_size == last / page_size, taken != half) << taken;  // or taken back
    }
}

TEST_F(committed_rules_test, a_slab_that_was_full_when_the_heap_was_opened_hands_out_nothing) {
    std::vector<u64> owned;
    for (int life = 0; life < 3; ++life) {
        committed_heap heap(*region_);
        must(heap.open());
        heap_batch b(heap, 0);
        for (u32 i = 0; i < slab_blocks(class_of_block(largest_block)); ++i) {
            const u64 offset = must(b.reserve(largest_block));
            ASSERT_EQ(std::count(owned.begin(), owned.end(), offset), 0);
            owned.push_back(offset);
        }
        commit(b);
        ASSERT_EQ(look().heap.slab_pages, owned.size());
    }
    committed_heap heap(*region_);
    must(heap.open());
    heap_batch b(heap, 0);
    b.release(owned.front(), largest_block);
    commit(b);
    EXPECT_EQ(must(b.reserve(largest_block)), owned.front());
}

TEST_F(committed_rules_test, what_is_no_block_of_the_heap_is_not_freed) {
    committed_heap heap(*region_);
    must(heap.open());
    heap_batch b(heap);
    const u64 block = must(b.reserve(100));
    const u64 extent = must(b.reserve(2 * page_size));
    commit(b);
    for (const u64 wrong : {u64{4096}, span_of(1).offset, region_->size(), region_->size() * 2,
                            block + 16, block / page_size * page_size + page_size - 1, extent}) {
        EXPECT_DEATH(b.release(wrong, 100), "no block of this size") << wrong;
    }
    EXPECT_DEATH(b.release(extent, 3 * page_size), "not handed out, or is freed twice");
    EXPECT_DEATH(b.release(extent + page_size, 2 * page_size), "not handed out");
    heap_batch other(heap);
    b.release(extent, 2 * page_size);
    EXPECT_DEATH(other.release(extent, 2 * page_size), "freed twice");
    b.cancel();
    other.release(extent, 2 * page_size);
}

TEST_F(committed_rules_test, a_batch_frees_once_what_it_frees_or_gives_up) {
    committed_heap heap(*region_);
    must(heap.open());
    for (const u64 size : {u64{100}, 2 * page_size}) {
        heap_batch b(heap);
        const u64 owned = must(b.reserve(size));
        commit(b);
        b.release(owned, size);
        EXPECT_DEATH(b.release(owned, size), "freed twice");
        const u64 mine = must(b.reserve(size));
        b.release(mine, size);
        EXPECT_DEATH(b.release(mine, size), "freed twice");
        b.cancel();
    }
}

TEST_F(committed_rules_test, changes_can_be_asked_for_at_any_time_and_stay_the_same) {
    committed_heap heap(*region_);
    must(heap.open());
    heap_batch b(heap);
    EXPECT_TRUE(b.changes().empty());
    b.cancel();
    for (const u64 size : {100, 200, 70'000, 300}) static_cast<void>(must(b.reserve(size)));
    const auto all = b.changes();
    const std::vector<committed::word_change> before(all.begin(), all.end());
    EXPECT_EQ(before.size(), 7U);
    const auto are_as_before = [&] { return std::ranges::equal(b.changes(), before); };
    EXPECT_TRUE(are_as_before());
    b.apply();
    EXPECT_TRUE(are_as_before());
    b.settle();
    EXPECT_TRUE(b.changes().empty());
}

TEST_F(committed_rules_test, pages_of_a_slab_whose_blocks_were_all_given_up_are_pages_again) {
    committed_heap heap(*region_);
    must(heap.open());
    const u64 room = large_.pages - committed::own_pages(large_.pages);
    for (const bool is_kept : {false, true}) {
        heap_batch b(heap);
        const u64 block = must(b.reserve(largest_block));
        const u64 other = is_kept ? must(b.reserve(largest_block)) : 0;
        b.release(block, largest_block);
        commit(b);
        const u64 extent = must(b.reserve(room * page_size));
        EXPECT_EQ(extent == large_.offset_of(1), !is_kept) << other;
        b.cancel();
    }
}

}  // namespace
}  // namespace hf
