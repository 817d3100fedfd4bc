// A heap as programs laid it that knew few size classes, and 256 sets of lists: used as it is.
#include "owned_heap.hpp"

namespace hf {
namespace {

using test::must;

class heap_of_format_1 : public test::owned_heap {
   protected:
    heap_of_format_1() { format_1_ = true; }
    /// Blocks in slabs, of classes that format 1 does not have.
    u64 foreign_blocks() {
        u64 blocks = 0;
        const audit_report report = look();
        for (u32 c = coarse_classes; c < block_classes; ++c)
            blocks += report.heap.classes[c].blocks;
        return blocks;
    }
};

TEST_F(heap_of_format_1, hands_out_the_blocks_that_it_always_has) {
    open();
    EXPECT_EQ(heap_->classes(), class_range::coarse);
    EXPECT_EQ(heap_->set_count(), max_lanes);
    EXPECT_EQ(heap_->pages().layout().pages(), 12U);
    EXPECT_EQ(heap_->block_for(528), 640U);
    for (u64 payload = 1; payload < 5000; payload += 7) allocate(payload);
    expect_ok();
    EXPECT_EQ(foreign_blocks(), 0U);
    while (!mine_.empty()) release(mine_.size() / 2);
    up_.epochs().end_epoch();
    expect_ok();
    for (u64 payload = 1; payload < 5000; payload += 7) allocate(payload);
    expect_ok();
    EXPECT_EQ(foreign_blocks(), 0U);
}

TEST_F(heap_of_format_1, counts_extents_where_it_always_has) {
    open();
    allocate(3 * page_size);
    EXPECT_EQ(heap_->usage()[extent_class], 4 * page_size);
    const heap_root& root = heap_->pages().root();
    const u64 lane = [&] {
        const operation op(up_.checkpoint());
        return u64{op.my_lane().index};
    }();
    EXPECT_EQ(root.lists(heap_root::layout_1())[lane * 44 + 43].live & 0xffffffff, 4U);
    expect_ok();
    release(0);
    EXPECT_EQ(heap_->usage()[extent_class], 0U);
}

TEST_F(heap_of_format_1, rolls_back_and_is_swept_like_any_other) {
    max_size_ = initial_size_ = u64{8} << 20;
    open();
    xoshiro256ss r(3);
    for (unsigned round = 0; round < 6; ++round) {
        while (!mine_.empty()) release(mine_.size() - 1);
        up_.epochs().end_epoch();
        (void)heap_->give_back_slabs();
        up_.epochs().end_epoch();
        use(r, 3000);
        up_.epochs().end_epoch();
        const auto kept = mine_;
        for (unsigned i = 0; i < 50; ++i) allocate(1 + r.below(900));
        for (unsigned i = 0; i < 80; ++i) release(r.below(mine_.size()));
        open();  // a crash
        mine_ = kept;
        ASSERT_TRUE(look().ok()) << look().to_string();
        EXPECT_EQ(foreign_blocks(), 0U);
    }
}

TEST_F(heap_of_format_1, says_that_larger_blocks_stand_in_as_it_always_has) {
    max_size_ = initial_size_ = u64{2} << 20;
    open();
    const auto fits = [&](u64 payload) {
        operation op(up_.checkpoint());
        op.my_lane().mark_written();
        const auto made = heap_->allocate(op, payload);
        if (made) mine_.push_back({*made, payload});
        return made.has_value();
    };
    while (fits(2000)) {
    }
    for (unsigned i = 0; i < 10; ++i) release(i);
    up_.epochs().end_epoch();
    ASSERT_FALSE(fits(200));
    heap_->let_larger_stand_in();
    EXPECT_EQ(heap_->pages().root().magic, heap_root::magic_1_with_stand_ins);
    ASSERT_TRUE(fits(200));
    expect_ok();
    release(mine_.size() - 1);
    expect_ok();
}

TEST_F(heap_of_format_1, with_a_slab_of_a_later_class_is_damaged) {
    open();
    allocate(100);
    const u64 page = (mine_[0].offset - layout::page_size) / page_size;
    std::atomic<u64>& word = segment_at().descriptors()[page].now;
    word.store((word.load() & ~(((u64{1} << 44) - 1) << 4)) |
               page_run{page_use::slab, coarse_classes, 1}.pack() << 4);
    EXPECT_THROW(heap_->pages().walk([](u64, const page_run&) { return true; }), damage);
    EXPECT_FALSE(look().ok());
}

TEST(root_layout, has_a_set_for_each_lane_where_there_is_room_and_fewer_elsewhere) {
    EXPECT_EQ(layout_for(u64{1} << 24, 1 << 20).sets, max_lanes);
    EXPECT_EQ(layout_for(u64{1} << 24, 1 << 20).pages(), most_root_pages);
    EXPECT_EQ(layout_for(256, 253).pages(), 1U);
    EXPECT_EQ(layout_for(4096, 4000).pages(), 4U);
    EXPECT_EQ(layout_for(u64{1} << 24, 80).pages(), 10U) << "the first segment is small";
    for (u64 pages = 1; pages <= 1 << 16; pages *= 2) {
        const root_layout layout = layout_for(pages, pages);
        EXPECT_GE(layout.sets, 2U);
        EXPECT_LE(layout.founding + founding_bytes, layout.lists);
        EXPECT_LE(layout.lists + layout.count() * sizeof(class_lists), layout.pages() * page_size);
    }
}

TEST_F(heap_of_format_1, and_of_2_is_neither_if_its_root_is_damaged) {
    for (const bool older : {true, false}) {
        format_1_ = older;
        close();
        std::filesystem::remove(file);
        open();
        heap_root& root = heap_->pages().root();
        const heap_root whole = root;
        const auto expect_refused = [&] {
            page_heap again(up_.checkpoint());
            EXPECT_FALSE(again.recover());
            EXPECT_FALSE(look().ok());
        };
        root.magic ^= 4;
        expect_refused();
        root = whole;
        if (older) continue;
        for (unsigned bit = 0; bit < 64; ++bit) {
            root.set_count ^= u64{1} << bit;
            expect_refused();
            root = whole;
        }
        for (const u64 sets : {0, 1, 257}) {
            root.set_count = heap_root::pack_sets(sets);
            expect_refused();
        }
        root = whole;
    }
}

}  // namespace
}  // namespace hf
