// States that no heap leaves: the audit reports each, field by field and up to the last possible
// value, and open() refuses those that it cannot use.
#include "damaged_heap.hpp"
#include "support/effort.hpp"

#include <algorithm>
#include <array>

namespace hf {
namespace {

using test::usable_of_eight;

class damaged_heap_test : public test::damaged_heap {};

// ---------------------------------------------------------------------------------------- segments

TEST_F(damaged_heap_test, a_segment_that_was_never_laid_out_is_untouched_unless_it_is_the_first) {
    open();
    const u64 before = look().heap.untouched_pages;
    (void)add_segment();
    expect_ok();
    EXPECT_TRUE(look().complete());
    EXPECT_EQ(look().heap.untouched_pages, before + 8);
    segment_at().magic = 0;
    expect("header of a heap segment is damaged", false);
}

TEST_F(damaged_heap_test, each_field_of_a_segments_header_counts) {
    open();
    allocate(100);
    for (u64* const field : {&segment_at().magic, &segment_at().first_usable}) {
        for (const u64 wrong : {*field + 1, *field - 1}) {
            const u64 right = std::exchange(*field, wrong);
            expect("offset 65536: the header of a heap segment is damaged", false);
            expect("the page with the heap's lists is damaged", false);
            *field = right;
            expect_ok();
        }
    }
}

TEST_F(damaged_heap_test, a_later_segments_header_counts_as_much) {
    open();
    const segment s = add_segment();
    lay_out(s, usable_of_eight);
    expect_ok();
    segment_at(s.offset).magic = 1;
    expect("the header of a heap segment is damaged", false);
    EXPECT_EQ(look().violation_count(), 1U);
}

TEST_F(damaged_heap_test, what_lies_at_the_root_is_found_by_the_first_segment) {
    open();
    allocate(100);
    audit_report report;
    operation op(up_.checkpoint());
    rolled_back_audit audit(up_.file(), op.failed(), op.epoch(), report);
    audit.read_runs();
    const u64 founding = heap_->pages().root_offset() + heap_->pages().layout().founding;
    const auto p = audit.locate(founding, 0);
    ASSERT_TRUE(p);
    EXPECT_EQ(p->room, founding_bytes);
    EXPECT_FALSE(audit.locate(founding + 64, 0));

    segment_at().magic = 1;
    audit_report none;
    rolled_back_audit blind(up_.file(), op.failed(), op.epoch(), none);
    blind.read_runs();
    blind.read_counters();
    EXPECT_EQ(none.violation_count(), 1U);
    EXPECT_EQ(none.heap.handed_out_bytes(), 0U);
    rolled_back_view view(up_.file(), op.failed(), op.epoch());
    EXPECT_FALSE(view.founding());
}

TEST_F(damaged_heap_test, a_frontier_lies_between_the_descriptors_and_the_segments_end) {
    open();
    const auto before = look().heap;
    const segment s = add_segment();
    for (const u64 frontier : {usable_of_eight - 1, usable_of_eight, usable_of_eight + 1, u64{8},
                               u64{9}, u64{1} << 40}) {
        SCOPED_TRACE(frontier);
        lay_out(s, frontier);
        const bool possible = frontier >= usable_of_eight && frontier <= 8;
        const audit_report report = look();
        EXPECT_EQ(report.ok(), possible) << report.to_string();
        EXPECT_EQ(report.complete(), possible);
        if (!possible) {
            expect("lies outside of it", false);
            continue;
        }
        EXPECT_EQ(report.heap.untouched_pages, before.untouched_pages + 8 - frontier);
        EXPECT_EQ(report.heap.free_pages, before.free_pages + frontier - usable_of_eight);
    }
}

/// A damaged word may lead a write to a header that was sound at the open.
TEST_F(damaged_heap_test, a_header_that_changed_since_is_noticed_before_it_is_followed) {
    open();
    segment_at().frontier.set(0, u64{1} << 30);
    operation op(up_.checkpoint());
    const auto refused = heap_->pages().reserve(op, 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::corrupt);
    EXPECT_NE(refused.error().why.find("header is damaged"), std::string::npos);
}

/// Else the lists would be handed out.
TEST_F(damaged_heap_test, the_first_frontier_lies_behind_the_pages_of_the_heaps_root) {
    open();
    heap_segment& h = segment_at();
    const u64 least = h.first_usable + most_root_pages;
    ASSERT_EQ(h.frontier.get(0), least);
    for (const u64 frontier : {least, least - 1}) {
        SCOPED_TRACE(frontier);
        h.frontier.set(0, frontier);
        EXPECT_EQ(look().complete(), frontier == least);
        page_heap again(up_.checkpoint());
        const auto opened = again.recover();
        EXPECT_EQ(opened.has_value(), frontier == least);
        if (!opened) {
            EXPECT_EQ(opened.error().code, errc::corrupt);
        }
    }
    expect("lies outside of it", false);
}

TEST_F(damaged_heap_test, a_frontier_of_the_running_epoch_is_possible_and_none_of_a_later_one) {
    open();
    const segment s = add_segment();
    lay_out(s, usable_of_eight);
    segment_at(s.offset).frontier.epoch = now();
    expect_ok();
    segment_at(s.offset).frontier.epoch = now() + 1;
    expect("frontier is stamped with epoch " + std::to_string(now() + 1), true);
}

TEST_F(damaged_heap_test, the_heaps_own_pages_lie_at_the_root_and_are_as_many_as_it_takes) {
    open();
    const u64 root_page = segment_at().first_usable;
    const page_run right{page_use::system, 0, most_root_pages};
    set_run(root_page, {page_use::system, 0, most_root_pages - 1});
    expect("a run of the heap's own pages where none belongs", true);
    set_run(root_page, {page_use::free, 0, most_root_pages});
    expect("the pages of the heap's root are not marked as its own", true);
    set_run(root_page, right);
    expect_ok();
    const u64 extent = allocate(most_root_pages * page_size - block_header_size);
    mine_.clear();
    set_run((extent - layout::page_size) / page_size, right);
    expect("a run of the heap's own pages where none belongs", true);
    EXPECT_EQ(look().violations().front().offset, extent - block_header_size);
}

TEST_F(damaged_heap_test, the_first_segment_has_room_for_the_root) {
    constexpr u64 least = descriptor_pages(most_root_pages + 1) + most_root_pages;
    for (const u64 pages : {least - 1, least}) {
        SCOPED_TRACE(pages);
        region_options o;
        o.initial_size = (1 + pages) * page_size;
        auto r = test::must(region::open(dir / std::to_string(pages), o));
        auto& h = *r->at<heap_segment>(layout::page_size);
        h.magic = heap_segment::magic_value;
        h.first_usable = descriptor_pages(pages);
        h.frontier.set(0, pages == least ? pages : h.first_usable);
        h.descriptors()[h.first_usable].now = page_run{page_use::system, 0, most_root_pages}.pack()
                                              << 4;
        auto& root = *r->at<heap_root>(layout::page_size + h.first_usable * page_size);
        root.magic = heap_root::magic_2;
        root.set_count = heap_root::pack_sets(max_lanes);
        const audit_report report = look(*r, {}, 1);
        EXPECT_EQ(report.ok(), pages == least) << report.to_string();
        EXPECT_EQ(report.complete(), pages == least);
    }
}

// ------------------------------------------------------------------------------------------- lists

TEST_F(damaged_heap_test, lists_are_read_though_their_pages_magic_number_is_gone) {
    open();
    allocate(100);
    heap_->pages().root().magic += 1;
    expect("the page with the heap's lists is damaged", false);
    EXPECT_EQ(look().heap.classes[class_of_block(116)].handed_out, 1U);
    EXPECT_EQ(look().violation_count(), 1U);
}

TEST_F(damaged_heap_test, what_the_structures_root_leads_to_is_no_list) {
    open();
    allocate(100);
    page_heap& pages = heap_->pages();
    std::fill_n(up_.file().at<std::byte>(pages.root_offset() + pages.layout().founding),
                founding_bytes, std::byte{0xff});
    expect_ok();
}

TEST_F(damaged_heap_test, lists_of_the_running_epoch_are_possible_and_none_of_a_later_one) {
    open();
    allocate(100);
    lists_of(100).lists.epoch = now();
    expect_ok();
    lists_of(100).lists.epoch = now() + 1;
    expect("class 6 are stamped with epoch " + std::to_string(now() + 1), true);
}

TEST_F(damaged_heap_test, extents_have_no_lists) {
    open();
    allocate(300'000);
    class_lists& g = heap_->lists(up_.epochs().my_lane().index, extent_class);
    for (const unsigned list : {class_lists::pending, class_lists::bump}) {
        expect_ok();
        g.lists.set(list, 64);
        expect("extents have a list", true);
        g.lists.set(list, 0);
    }
}

TEST_F(damaged_heap_test, no_list_of_any_class_leads_into_an_extent) {
    open();
    const u64 extent = allocate(300'000) - block_header_size;
    for (u32 c = 0; c < block_classes; ++c) {
        class_lists& g = lists_of(block_size(c) - block_header_size);
        for (const class_lists::list list : {class_lists::free, class_lists::pending}) {
            g.lists.set(list, extent);
            expect("leads to offset " + std::to_string(extent) + ", where none is", false);
            g.lists.set(list, 0);
        }
        g.lists.set(class_lists::bump, u64{slab_blocks(c)} << 48 | extent);
        expect("where they are not", false);
        g.lists.set(class_lists::bump, 0);
    }
    expect_ok();
}

TEST_F(damaged_heap_test, no_list_of_any_class_leads_where_no_block_is) {
    open();
    for (u32 c = 0; c < block_classes; ++c) allocate(block_size(c) - block_header_size);
    expect_ok();
    const std::vector<owned> blocks = mine_;
    // Under a sanitizer some classes: each audit reads the whole heap.
    for (u32 c = 0; c < block_classes; c += hf::test::is_sanitized ? 5 : 1) {
        class_lists& g = lists_of(block_size(c) - block_header_size);
        const u64 block = blocks[c].offset - block_header_size;
        const u64 bump = g.lists.get(class_lists::bump);
        const std::array<u64, 5> places{block + 16, blocks[(c + 1) % block_classes].offset - 16, 64,
                                        up_.file().size(), u64{1} << 40};
        for (const u32 i : {c, c + 2}) {  // two for each class, and all of them for some
            const u64 wrong = places[i % places.size()];
            g.lists.set(class_lists::free, wrong);
            expect("leads to offset " + std::to_string(wrong) + ", where none is", false);
            g.lists.set(class_lists::free, 0);
            g.lists.set(class_lists::bump, u64{1} << 48 | wrong);
            expect("at offset " + std::to_string(wrong) + ", where they are not", false);
            g.lists.set(class_lists::bump, bump);
        }
    }
    expect_ok();
}

TEST_F(damaged_heap_test, a_block_of_two_lists_is_the_first_ones) {
    open();
    allocate(100);
    allocate(100);
    release(1);
    expect_ok();
    class_lists& g = lists_of(100);
    g.lists.set(class_lists::free, g.lists.get(class_lists::pending));
    expect("which is in a list of free blocks already", false);
    const auto of_class = look().heap.classes[class_of_block(116)];
    EXPECT_EQ(of_class.free, 1U);
    EXPECT_EQ(of_class.pending, 0U);
}

TEST_F(damaged_heap_test, a_block_in_a_list_and_behind_the_bump_pointer_is_the_lists) {
    open();
    allocate(100);
    class_lists& g = lists_of(100);
    const u64 word = g.lists.get(class_lists::bump);
    g.lists.set(class_lists::free, word & ((u64{1} << 48) - 1));
    expect("is behind a bump pointer, and in a list of free blocks", true);
    const auto of_class = look().heap.classes[class_of_block(116)];
    EXPECT_EQ(of_class.free, 1U);
    EXPECT_EQ(of_class.fresh, (word >> 48) - 1);
}

TEST_F(damaged_heap_test, a_bump_pointer_names_exactly_the_rest_of_a_slab_of_its_class) {
    open();
    for (int i = 0; i < 3; ++i) allocate(100);
    allocate(500);
    const u64 other = mine_.back().offset - block_header_size;
    class_lists& g = lists_of(100);
    const u64 right = g.lists.get(class_lists::bump);
    const u32 c = class_of_block(116);
    constexpr u64 one = u64{1} << 48;
    for (const u64 wrong :
         {right + one, right - one, right + block_size(c), right - block_size(c), right + 16,
          u64{slab_blocks(c)} << 48 | other, right & ~(one - 1), right + (u64{1} << 40)}) {
        SCOPED_TRACE(wrong);
        g.lists.set(class_lists::bump, wrong);
        expect("where they are not", false);
    }
    g.lists.set(class_lists::bump, right);
    expect_ok();
}

// ---------------------------------------------------------------------------------------- counters

TEST_F(damaged_heap_test, counters_say_what_is_handed_out_neither_more_nor_less) {
    open();
    allocate(100);
    allocate(300'000);
    class_lists& blocks = lists_of(100);
    class_lists& extents = heap_->lists(up_.epochs().my_lane().index, extent_class);
    blocks.live = 2;
    expect("say that 2 blocks of 128 bytes are handed out, found were 1", true);
    blocks.live = 0;
    expect("say that 0 blocks of 128 bytes are handed out, found were 1", true);
    blocks.live = 0xffff'ffff;
    expect("more blocks of size class 6 were freed than handed out", true);
    blocks.live = 1;
    extents.live = 6;
    expect("say that 6 pages of extents are handed out, found were 5", true);
    extents.live = 4;
    expect("say that 4 pages of extents are handed out, found were 5", true);
    extents.live = 5;
    expect_ok();
}

}  // namespace
}  // namespace hf
