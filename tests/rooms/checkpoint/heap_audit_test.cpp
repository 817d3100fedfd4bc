// The heap's audit accounts for every block under any use, and finds each kind of damage.
#include "owned_heap.hpp"

namespace hf {
namespace {

class heap_audit_test : public test::owned_heap {};

TEST_F(heap_audit_test, accounts_for_every_block_after_any_use) {
    open();
    xoshiro256ss r(1);
    for (int round = 0; round < 20; ++round) {
        use(r, 1000);
        const audit_report report = look();
        ASSERT_TRUE(report.ok()) << "round " << round << "\n" << report.to_string();
        ASSERT_TRUE(report.complete());
    }
}

TEST_F(heap_audit_test, accounts_for_every_block_after_crashes) {
    xoshiro256ss r(2);
    for (int life = 0; life < 15; ++life) {
        open();
        const audit_report before = look();
        ASSERT_TRUE(before.ok()) << "life " << life << "\n" << before.to_string();
        use(r, static_cast<unsigned>(r.below(3000)));
        up_.epochs().end_epoch();
        const std::vector<owned> durable = mine_;
        for (unsigned i = 0; i < 150; ++i) {
            r.below(2) != 0 || mine_.empty() ? (void)allocate(1 + r.below(500))
                                             : release(r.below(mine_.size()));
        }
        mine_ = durable;
    }
}

TEST_F(heap_audit_test, counts_as_the_heap_does) {
    open();
    for (int i = 0; i < 100; ++i) allocate(100);
    allocate(300'000);
    const audit_report report = look();
    ASSERT_TRUE(report.ok()) << report.to_string();
    const auto& c = report.heap.classes[class_of_block(116)];
    EXPECT_EQ(c.handed_out, 100U);
    EXPECT_EQ(c.claimed, 100U);
    EXPECT_EQ(c.slabs, 1U);
    EXPECT_EQ(c.blocks, 100 + c.free + c.pending + c.fresh);
    EXPECT_EQ(report.heap.extents, 1U);
    EXPECT_EQ(report.heap.extent_pages_handed_out, 5U);
    EXPECT_EQ(report.heap.handed_out_bytes(), 100 * 128 + 5 * page_size);
    EXPECT_EQ(report.heap.pages, report.heap.system_pages + report.heap.slab_pages +
                                     report.heap.extent_pages + report.heap.free_pages +
                                     report.heap.untouched_pages);
}

TEST_F(heap_audit_test, finds_a_leaked_block_and_a_leaked_extent) {
    open();
    for (int i = 0; i < 10; ++i) allocate(100);
    allocate(300'000);
    mine_.pop_back();
    mine_.pop_back();
    expect("neither free nor referred to");
    expect("an extent of 5 pages is handed out, but nothing refers to it");
}

TEST_F(heap_audit_test, finds_a_block_that_is_freed_but_still_owned) {
    open();
    for (int i = 0; i < 10; ++i) allocate(100);
    const owned o = mine_.back();
    release(9);
    mine_.push_back(o);
    expect("but it is in a list of free blocks");
}

TEST_F(heap_audit_test, finds_a_block_with_two_owners) {
    open();
    for (int i = 0; i < 10; ++i) allocate(100);
    mine_.push_back(mine_.front());
    expect("but it is owned by another reference");
}

TEST_F(heap_audit_test, finds_a_list_that_bites_its_tail) {
    open();
    for (int i = 0; i < 10; ++i) allocate(100);
    const u64 last = mine_[8].offset;
    release(9);
    release(8);
    up_.epochs().end_epoch();
    // The head of the list once more, where its end was.
    class_lists& g = lists_of(100);
    const u64 head = g.lists.get(class_lists::pending);
    EXPECT_EQ(head, last - block_header_size);
    const u64 second =
        heap_->next_block(head, up_.checkpoint().failed(), up_.epochs().current_epoch());
    up_.file().at<compact_cell>(second)->write(head >> 4, up_.checkpoint().failed(),
                                               up_.epochs().current_epoch());
    expect("which is in a list of free blocks already");
}

TEST_F(heap_audit_test, finds_a_list_that_leads_nowhere) {
    open();
    for (int i = 0; i < 10; ++i) allocate(100);
    lists_of(100).lists.set(class_lists::free, u64{1} << 40);
    expect("where none is");
}

TEST_F(heap_audit_test, finds_a_list_of_another_class) {
    open();
    allocate(100);
    allocate(500);
    lists_of(100).lists.set(class_lists::free, mine_.back().offset - block_header_size);
    expect("where none is");
}

TEST_F(heap_audit_test, finds_a_bump_pointer_into_used_blocks) {
    open();
    for (int i = 0; i < 10; ++i) allocate(100);
    class_lists& g = lists_of(100);
    const u64 word = g.lists.get(class_lists::bump);
    g.lists.set(class_lists::bump, ((word >> 48) + 1) << 48 | ((word & ((u64{1} << 48) - 1)) -
                                                               block_size(class_of_block(116))));
    expect("but it is behind a bump pointer");
}

TEST_F(heap_audit_test, finds_a_bump_pointer_that_leads_nowhere) {
    open();
    allocate(100);
    lists_of(100).lists.set(class_lists::bump, u64{5} << 48 | 4096);
    expect("where they are not");
}

TEST_F(heap_audit_test, finds_wrong_counters) {
    open();
    allocate(100);
    lists_of(100).live.fetch_add(1);
    expect("found were 1");
}

TEST_F(heap_audit_test, finds_stamps_of_the_future) {
    open();
    allocate(100);
    lists_of(100).lists.epoch.store(1000);
    expect("stamped with epoch 1000");
}

TEST_F(heap_audit_test, finds_impossible_page_runs_and_goes_no_further) {
    open();
    allocate(100);
    auto* h = up_.file().at<heap_segment>(layout::page_size);
    compact_cell& cell = h->descriptors()[h->first_usable + most_root_pages];
    const u64 whole = cell.now.load();
    for (const page_run& wrong :
         {page_run{page_use::slab, block_classes, 1}, page_run{page_use::slab, 20, 77},
          page_run{page_use::extent, 0, 1 << 30}, page_run{static_cast<page_use>(9), 0, 1},
          page_run{page_use::system, 0, 1}}) {
        cell.now.store((whole & ~(((u64{1} << 44) - 1) << 4)) | wrong.pack() << 4);
        EXPECT_FALSE(look().ok()) << static_cast<int>(wrong.use);
    }
    cell.now.store(whole);
    EXPECT_TRUE(look().ok()) << look().to_string();
}

TEST_F(heap_audit_test, finds_a_heap_root_whose_pages_would_be_handed_out) {
    open();
    allocate(100);
    auto* h = up_.file().at<heap_segment>(layout::page_size);
    h->descriptors()[h->first_usable].now.store(0);
    expect("not marked as its own");
}

TEST_F(heap_audit_test, finds_a_damaged_segment_header) {
    open();
    allocate(100);
    up_.file().at<heap_segment>(layout::page_size)->frontier.set(0, 1 << 20);
    expect("frontier");
    up_.file().at<heap_segment>(layout::page_size)->magic = 1;
    expect("header of a heap segment is damaged");
}

}  // namespace
}  // namespace hf
