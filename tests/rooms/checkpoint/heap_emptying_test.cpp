// Sparsely used slabs are emptied: nothing is allocated in them any more, and what is freed in them
// waits, until they are empty.
#include "owned_heap.hpp"

#include <latch>
#include <set>
#include <thread>
#include <vector>

namespace hf {
namespace {

constexpr u64 of_records = 1000;
constexpr u64 of_others = 900;
constexpr u64 of_nodes = 300;
constexpr u32 record_class = class_of_block(of_records + block_header_size);
constexpr u32 records_in_slab = slab_blocks(record_class);

class heap_emptying : public test::owned_heap {
   protected:
    heap_emptying() {
        initial_size_ = max_size_ = u64{2} << 20;
        open();
    }
    void end_epoch() { up_.epochs().end_epoch(); }
    bool has_room(u64 payload) {
        operation op(up_.checkpoint());
        op.my_lane().mark_written();
        const auto offset = heap_->allocate(op, payload);
        if (offset) mine_.push_back({*offset, payload});
        return offset.has_value();
    }
    void fill(u64 payload) {
        while (has_room(payload)) {
        }
    }
    void release_where(const std::function<bool(u64)>& which) {
        for (std::size_t i = mine_.size(); i-- > 0;) {
            if (which(mine_[i].offset)) release(i);
        }
    }
    /// A full heap of which every second block is then freed.
    void fill_and_halve(u64 payload = of_records) {
        fill(payload);
        u64 n = 0;
        release_where([&](u64) { return n++ % 2 == 0; });
        end_epoch();
    }
    bool is_emptied(u64 offset) {
        const operation op(up_.checkpoint());
        return heap_->is_emptied(offset);
    }
    /// Allocates a block for each one in an emptied slab, and frees that. Fails the test if there
    /// is no room for one.
    u64 move_all() {
        u64 moved = 0;
        for (std::size_t i = mine_.size(); i-- > 0;) {
            if (!is_emptied(mine_[i].offset)) continue;
            EXPECT_TRUE(has_room(mine_[i].payload));
            EXPECT_FALSE(is_emptied(mine_.back().offset)) << "allocated in a slab to be emptied";
            release(i);
            ++moved;
        }
        return moved;
    }
    u64 slabs() { return look().heap.classes[record_class].slabs; }
};

TEST_F(heap_emptying, half_of_the_slabs_become_pages) {
    fill_and_halve();
    const u64 before = slabs();
    EXPECT_EQ(heap_->give_back_slabs(), 0U) << "each slab has blocks in use";
    EXPECT_FALSE(has_room(of_others));
    const u64 pages = heap_->begin_emptying(of_nodes);
    EXPECT_GE(pages, before / 2 - 1);
    expect_ok();
    EXPECT_GT(move_all(), 0U);
    expect_ok();
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(true), pages);
    heap_->end_emptying();
    expect_ok();
    EXPECT_EQ(slabs(), before - pages);
    end_epoch();
    u64 again = 0;
    while (has_room(of_others)) ++again;
    EXPECT_GE(again, pages * slab_blocks(class_of_block(of_others + block_header_size)));
    expect_ok();
}

TEST_F(heap_emptying, epochs_and_sweeps_in_between_give_no_block_of_an_emptied_slab) {
    fill_and_halve();
    const u64 pages = heap_->begin_emptying(of_nodes);
    ASSERT_GT(pages, 1U);
    // Some are moved, and the blocks they leave are allocatable by their epoch.
    for (std::size_t i = mine_.size() / 2; i-- > 0;) {
        if (is_emptied(mine_[i].offset)) release(i);
    }
    end_epoch();
    EXPECT_LT(heap_->give_back_slabs(true), pages);
    end_epoch();
    expect_ok();
    EXPECT_GT(move_all(), 0U);
    end_epoch();
    EXPECT_GT(heap_->give_back_slabs(true), 0U);
    heap_->end_emptying();
    expect_ok();
}

TEST_F(heap_emptying, pages_of_a_freed_slab_do_not_count_as_emptied) {
    fill_and_halve();
    const u64 pages = heap_->begin_emptying(of_nodes);
    EXPECT_GT(move_all(), 0U);
    end_epoch();
    ASSERT_EQ(heap_->give_back_slabs(true), pages);
    end_epoch();
    u64 made = 0;
    for (; has_room(of_others); ++made) EXPECT_FALSE(is_emptied(mine_.back().offset));
    EXPECT_GT(made, 0U);
    release(mine_.size() - 1);
    end_epoch();
    EXPECT_TRUE(has_room(of_others)) << "what was freed there waits";
    heap_->end_emptying();
    expect_ok();
}

TEST_F(heap_emptying, a_sweep_in_the_next_epoch_collects_what_was_freed_just_before) {
    fill_and_halve();
    u64 n = 0;
    release_where([&](u64) { return n++ % 4 == 0; });
    ASSERT_GT(heap_->begin_emptying(of_nodes), 0U);
    end_epoch();
    (void)heap_->give_back_slabs(true);
    while (has_room(of_records)) {
        ASSERT_FALSE(is_emptied(mine_.back().offset)) << "allocated in a slab to be emptied";
    }
    heap_->end_emptying();
    expect_ok();
}

TEST_F(heap_emptying, waiting_blocks_are_taken_over_beside_many_threads) {
    fill_and_halve();
    const u64 in_use = mine_.size();
    ASSERT_GT(heap_->begin_emptying(of_nodes), 0U);
    constexpr int threads = 12;
    std::latch have_lanes(threads + 1);
    std::latch may_end(1);
    std::vector<std::jthread> others;
    for (int i = 0; i < threads; ++i) {
        others.emplace_back([&] {
            {
                const operation op(up_.checkpoint());
            }
            have_lanes.count_down();
            may_end.wait();
        });
    }
    have_lanes.arrive_and_wait();
    heap_->end_emptying();
    end_epoch();
    fill(of_records);
    EXPECT_GE(mine_.size(), 2 * in_use - 1) << "blocks that waited are lost";
    may_end.count_down();
    others.clear();
    expect_ok();
}

TEST_F(heap_emptying, what_other_threads_free_in_it_waits_too) {
    fill_and_halve();
    ASSERT_GT(heap_->begin_emptying(of_nodes), 0U);
    std::thread([&] {
        release_where([&](u64 offset) { return is_emptied(offset); });
        end_epoch();
        std::set<u64> had;
        for (const owned& o : mine_) had.insert(o.offset);
        while (has_room(of_records)) {
        }
        for (const owned& o : mine_) EXPECT_FALSE(is_emptied(o.offset) && !had.contains(o.offset));
    }).join();
    expect_ok();
    heap_->end_emptying();
    end_epoch();
    EXPECT_TRUE(has_room(of_records)) << "it waits forever";
    expect_ok();
}

TEST_F(heap_emptying, a_crash_leaves_the_blocks_for_anybody) {
    fill_and_halve();
    const u64 in_use = mine_.size();
    ASSERT_GT(heap_->begin_emptying(of_nodes), 0U);
    open();  // a crash in the epoch in which they were chosen
    expect_ok();
    ASSERT_GT(heap_->begin_emptying(of_nodes), 0U);
    end_epoch();
    open();  // and in a later one
    expect_ok();
    fill(of_records);
    EXPECT_GE(mine_.size(), 2 * in_use - 1) << "blocks that waited are lost";
    expect_ok();
}

TEST_F(heap_emptying, slabs_of_nodes_are_left_alone) {
    fill_and_halve();
    EXPECT_EQ(heap_->begin_emptying(of_records), 0U);
    EXPECT_GT(heap_->begin_emptying(of_nodes), 0U);
    heap_->end_emptying();
}

TEST_F(heap_emptying, slabs_are_not_chosen_without_room_for_their_blocks) {
    fill(of_records);
    // One block in each slab is free.
    std::set<u64> seen;
    release_where([&](u64 offset) { return seen.insert(offset / page_size).second; });
    end_epoch();
    ASSERT_LT(seen.size(), records_in_slab);
    EXPECT_EQ(heap_->begin_emptying(of_nodes), 0U);
    expect_ok();
}

TEST_F(heap_emptying, a_slab_that_is_being_filled_is_not_chosen) {
    for (u32 i = 0; i <= 2 * records_in_slab; ++i) allocate(of_records);
    const u64 last = mine_.back().offset;
    const u64 page = mine_.front().offset / page_size;
    u64 n = 0;
    release_where([&](u64 offset) { return offset / page_size == page && n++ % 2 == 0; });
    end_epoch();
    ASSERT_GT(heap_->begin_emptying(of_nodes), 0U);
    EXPECT_FALSE(is_emptied(last)) << "its slab has blocks that were never used";
    expect_ok();
}

TEST_F(heap_emptying, it_does_not_begin_twice) {
    fill_and_halve();
    ASSERT_GT(heap_->begin_emptying(of_nodes), 0U);
    EXPECT_EQ(heap_->begin_emptying(of_nodes), 0U);
    heap_->end_emptying();
    EXPECT_GT(heap_->begin_emptying(of_nodes), 0U);
}

}  // namespace
}  // namespace hf
