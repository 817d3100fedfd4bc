// Slabs that have run empty are given back, whole, and not before that is safe.
#include "owned_heap.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

namespace hf {
namespace {

constexpr u64 small = 1000;
constexpr u32 small_class = class_of_block(small + block_header_size);
constexpr u32 in_slab = slab_blocks(small_class);

class heap_sweep_test : public test::owned_heap {
   protected:
    heap_sweep_test() {
        initial_size_ = max_size_ = u64{2} << 20;  // a dozen pages to hand out
    }
    void end_epoch() { up_.epochs().end_epoch(); }
    bool has_room(u64 payload) {
        operation op(up_.checkpoint());
        return !is_large(payload) ? has_block(op, payload) : has_extent(op, payload);
    }
    bool has_block(operation& op, u64 payload) {
        op.my_lane().mark_written();
        const auto offset = heap_->allocate(op, payload);
        if (offset) mine_.push_back({*offset, payload});
        return offset.has_value();
    }
    bool has_extent(operation& op, u64 payload) {
        op.my_lane().mark_written();
        const auto offset = heap_->reserve_large(op, payload);
        if (!offset) return false;
        heap_->commit_large(op, *offset, payload);
        mine_.push_back({*offset, payload});
        return true;
    }
    u64 fill(u64 payload) {
        u64 taken = 0;
        while (has_room(payload)) ++taken;
        return taken;
    }
    void release_where(const std::function<bool(const owned&)>& which) {
        for (std::size_t i = mine_.size(); i-- > 0;) {
            if (which(mine_[i])) release(i);
        }
    }
    void release_all() {
        release_where([](const owned&) { return true; });
    }
    [[nodiscard]] u64 slabs_of(u32 size_class) { return look().heap.classes[size_class].slabs; }
};

TEST_F(heap_sweep_test, blocks_of_an_empty_slab_serve_other_sizes_and_extents) {
    open();
    const u64 taken = fill(small);
    ASSERT_EQ(taken, slabs_of(small_class) * in_slab);
    release_all();
    end_epoch();
    ASSERT_FALSE(has_room(300)) << "pages are free that should not be";
    EXPECT_EQ(heap_->give_back_slabs(), taken / in_slab);
    EXPECT_FALSE(has_room(300)) << "H2: in the epoch that gives it back";
    expect_ok();
    end_epoch();
    EXPECT_TRUE(has_room(300));
    EXPECT_TRUE(has_room((taken / in_slab - 1) * page_size - block_header_size))
        << "pages side by side are one run";
    EXPECT_FALSE(has_room(small));
    expect_ok();
    release_all();
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), 1U);
    end_epoch();
    EXPECT_EQ(fill(small), taken);
    expect_ok();
}

TEST_F(heap_sweep_test, blocks_that_an_idle_thread_has_freed_serve_all) {
    open();
    const u64 taken = fill(small);
    std::atomic<bool> is_done{false};
    std::atomic<bool> may_end{false};
    std::thread idle([&] {
        // Every second one: no slab runs empty.
        for (std::size_t i = mine_.size(); i-- > 0;) {
            if (i % 2 == 0) release(i);
        }
        is_done = true;
        is_done.notify_one();
        may_end.wait(false);
    });
    is_done.wait(false);
    end_epoch();
    ASSERT_FALSE(has_room(small)) << "they are in the lists of a thread that still runs";
    EXPECT_EQ(heap_->give_back_slabs(), 0U);
    EXPECT_TRUE(heap_->has_gathered());
    expect_ok();
    EXPECT_EQ(fill(small), (taken + 1) / 2);
    expect_ok();
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), 0U);
    EXPECT_FALSE(heap_->has_gathered()) << "nothing is left";
    may_end = true;
    may_end.notify_one();
    idle.join();
}

TEST_F(heap_sweep_test, a_slab_of_which_one_block_is_handed_out_stays) {
    open();
    const u64 taken = fill(small);
    const u64 kept = mine_[3 * in_slab + 7].offset;
    release_where([&](const owned& o) { return o.offset != kept; });
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), taken / in_slab - 1);
    expect_ok();
    EXPECT_EQ(slabs_of(small_class), 1U);
    end_epoch();
    for (u32 i = 1; i < in_slab; ++i) allocate(small);
    EXPECT_EQ(slabs_of(small_class), 1U) << "its other blocks are lost";
    expect_ok();
}

TEST_F(heap_sweep_test, what_this_epoch_has_freed_keeps_its_slab) {
    open();
    fill(small);
    const u64 slabs = slabs_of(small_class);
    const u64 last = mine_.back().offset;
    release_where([&](const owned& o) { return o.offset != last; });
    end_epoch();
    release_all();
    EXPECT_EQ(heap_->give_back_slabs(), slabs - 1);
    expect_ok();
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), 1U);
    expect_ok();
}

TEST_F(heap_sweep_test, the_rest_that_was_never_used_goes_too) {
    open();
    for (u32 i = 0; i < in_slab + 3; ++i) allocate(small);
    release_where([](const owned&) { return true; });
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), 2U);
    expect_ok();
    end_epoch();
    for (u32 i = 0; i < in_slab + 3; ++i) allocate(small);
    expect_ok();
}

TEST_F(heap_sweep_test, a_crash_in_the_epoch_brings_slabs_and_lists_back) {
    open();
    const u64 taken = fill(small);
    release_where(
        [&](const owned& o) { return o.offset / page_size % 3 != 0 || o.offset % 7 == 0; });
    end_epoch();
    const auto before = look().heap.classes[small_class];
    ASSERT_GT(heap_->give_back_slabs(), 0U);
    ASSERT_LT(slabs_of(small_class), before.slabs);
    open();
    EXPECT_EQ(slabs_of(small_class), before.slabs);
    expect_ok();
    const u64 kept = mine_.size();
    EXPECT_EQ(fill(small), taken - kept) << "blocks are lost";
    expect_ok();
}

TEST_F(heap_sweep_test, blocks_of_every_thread_count) {
    open();
    std::vector<owned> theirs;
    std::thread([&] {
        fill(small);
        for (std::size_t i = 1; i < mine_.size(); i += 2) {
            theirs.push_back(mine_[i]);
        }
        std::erase_if(mine_, [&](const owned& o) {
            return std::any_of(theirs.begin(), theirs.end(),
                               [&](const owned& t) { return t.offset == o.offset; });
        });
        release_all();
        // The lane stays this thread's until it ends; the other half is freed elsewhere.
    }).join();
    for (const owned& o : theirs) heap_on_tmpfs::release(o.offset, o.payload);
    const u64 slabs = slabs_of(small_class);
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), slabs);
    expect_ok();
}

TEST_F(heap_sweep_test, another_long_sweep_has_to_be_earned) {
    initial_size_ = max_size_ = u64{8} << 20;
    constexpr u64 tiny = 16;
    open();
    const u64 taken = fill(tiny);
    ASSERT_GT(taken, 100'000U);
    release_where([](const owned& o) { return o.offset % page_size != block_header_size; });
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), 0U) << "a block of each slab is handed out";
    release_all();
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), 0U) << "by so few releases";
    for (u64 i = 0; i < taken / 16; ++i) allocate(tiny);
    release_all();
    end_epoch();
    EXPECT_GT(heap_->give_back_slabs(), 100U);
}

TEST_F(heap_sweep_test, nothing_is_given_back_beside_the_background_pass) {
    open();
    fill(small);
    release_all();
    end_epoch();
    bool asked = false;
    heap_->refresh(up_.epochs().current_epoch(), [&] {
        EXPECT_EQ(heap_->give_back_slabs(), 0U);
        asked = true;
        return false;
    });
    EXPECT_TRUE(asked);
    EXPECT_GT(heap_->give_back_slabs(), 0U);
    expect_ok();
}

TEST_F(heap_sweep_test, a_list_that_runs_wrong_changes_nothing) {
    open();
    fill(small);
    release_all();
    end_epoch();
    allocate(small);  // so that the list is `free`
    release_all();
    end_epoch();
    class_lists& g = lists_of(small);
    const u64 slabs = slabs_of(small_class);
    const u64 right = g.lists.get(class_lists::free);
    for (const u64 wrong : {right + 16, u64{64}, up_.file().size() + page_size}) {
        g.lists.set(class_lists::free, wrong);
        EXPECT_EQ(heap_->give_back_slabs(), 0U) << wrong;
        g.lists.set(class_lists::free, right);
    }
    EXPECT_EQ(slabs_of(small_class), slabs);
    auto& second = *up_.file().at<compact_cell>(g.lists.get(class_lists::free));
    const u64 next = second.now.load();
    second.now.store(g.lists.get(class_lists::free));  // in a circle
    EXPECT_EQ(heap_->give_back_slabs(), 0U);
    second.now.store(next);
    EXPECT_EQ(slabs_of(small_class), slabs);
    EXPECT_GT(heap_->give_back_slabs(), 0U);
    expect_ok();
}

// ---------------------------------------------------------------------------------- larger blocks

TEST_F(heap_sweep_test, larger_blocks_serve_smaller_payloads_where_it_is_allowed) {
    open();
    const u64 taken = fill(small);
    release_where([](const owned& o) { return o.offset / 1024 % 2 == 0; });
    end_epoch();
    const u64 freed = taken - mine_.size();
    ASSERT_EQ(heap_->give_back_slabs(), 0U);
    ASSERT_FALSE(has_room(300));
    heap_->let_larger_stand_in();
    EXPECT_FALSE(has_room(small + 24)) << "of the next class";
    EXPECT_EQ(fill(300), freed);
    expect_ok();
    EXPECT_EQ(look().heap.classes[small_class].handed_out, taken);
    release_where([](const owned& o) { return o.payload == 300; });
    expect_ok();
    end_epoch();
    EXPECT_EQ(fill(small), freed) << "they are what they were";
    expect_ok();
    release_all();
    end_epoch();
    EXPECT_EQ(heap_->give_back_slabs(), taken / in_slab);
}

TEST_F(heap_sweep_test, a_larger_block_goes_back_to_its_own_class_in_every_later_session) {
    open();
    const u64 taken = fill(small);
    release_where([](const owned& o) { return o.offset / 1024 % 2 == 0; });
    end_epoch();
    const u64 freed = taken - mine_.size();
    heap_->let_larger_stand_in();
    ASSERT_EQ(fill(300), freed);
    end_epoch();
    open();  // after a crash, which undoes nothing of it
    expect_ok();
    release_where([](const owned& o) { return o.payload == 300; });
    end_epoch();
    expect_ok();
    EXPECT_FALSE(has_room(300)) << "nobody has allowed it in this session";
    EXPECT_EQ(fill(small), freed);
    expect_ok();
}

TEST_F(heap_sweep_test, a_crash_takes_larger_blocks_back) {
    open();
    const u64 taken = fill(small);
    release_where([](const owned& o) { return o.offset / 1024 % 2 == 0; });
    end_epoch();
    const std::vector<owned> durable = mine_;
    heap_->let_larger_stand_in();
    ASSERT_TRUE(has_room(300));
    mine_ = durable;
    open();
    expect_ok();
    EXPECT_EQ(fill(small), taken - durable.size());
    expect_ok();
}

TEST_F(heap_sweep_test, larger_blocks_are_allowed_for_some_epochs) {
    open();
    fill(small);
    release_where([](const owned& o) { return o.offset / 1024 % 2 == 0; });
    end_epoch();
    heap_->let_larger_stand_in();
    for (int i = 0; i < 15; ++i) end_epoch();
    EXPECT_TRUE(has_room(300));
    end_epoch();
    EXPECT_FALSE(has_room(300));
}

TEST_F(heap_sweep_test, a_payload_begins_in_a_line_where_it_would) {
    open();
    ASSERT_TRUE(has_room(48 * 1024));
    fill(1264);  // blocks of 1,280 bytes
    release_all();
    end_epoch();
    heap_->let_larger_stand_in();
    while (has_room(304)) {
    }
    for (const owned& o : mine_) EXPECT_EQ(o.offset % line_size, block_header_size);
    for (u32 wanted = 0; wanted < block_classes; ++wanted) {
        for (u32 larger = 0; larger < block_classes; ++larger) {
            if (!may_stand_in(larger, wanted)) continue;
            EXPECT_GT(block_size(larger), block_size(wanted));
            EXPECT_LE(block_size(larger), 4096U) << "a slab of one page";
        }
    }
    EXPECT_EQ(lead_in(544, class_of_block(320)), 32U) << "from the middle of a line";
    EXPECT_EQ(lead_in(2 * 544, class_of_block(320)), 0U);
    EXPECT_EQ(lead_in(544, class_of_block(304)), 0U);
    EXPECT_TRUE(may_stand_in(class_of_block(368), class_of_block(320)));
    EXPECT_FALSE(may_stand_in(class_of_block(352), class_of_block(320))) << "no room to move";
    EXPECT_TRUE(may_stand_in(class_of_block(336), class_of_block(304)));
    EXPECT_TRUE(may_stand_in(class_of_block(4096), 0));
}

// Every second block of 544 bytes begins in the middle of a line.
TEST_F(heap_sweep_test, a_payload_is_moved_to_where_a_line_begins_and_its_block_found_again) {
    open();
    ASSERT_TRUE(has_room(48 * 1024));
    fill(528);
    release_all();
    end_epoch();
    heap_->let_larger_stand_in();
    while (has_room(304)) {
    }
    ASSERT_GT(mine_.size(), 100U);
    bool moved = false;
    for (const owned& o : mine_) {
        ASSERT_EQ(o.offset % line_size, block_header_size);
        moved = moved || (o.offset - block_header_size) % page_size % 544 != 0;
    }
    EXPECT_TRUE(moved);
    EXPECT_TRUE(look().ok()) << look().to_string();
    const std::size_t all = mine_.size();
    release_all();
    EXPECT_TRUE(look().ok()) << look().to_string();
    end_epoch();
    while (has_room(528)) {
    }
    EXPECT_GE(mine_.size(), all * 9 / 10);
    EXPECT_TRUE(look().ok()) << look().to_string();
}

TEST_F(heap_sweep_test, random_work_with_sweeps_and_crashes_keeps_the_books) {
    xoshiro256ss r(7);
    u64 given_back = 0;
    initial_size_ = max_size_ = u64{4} << 20;
    for (int life = 0; life < 40; ++life) {
        open();
        ASSERT_TRUE(look().ok()) << "life " << life << "\n" << look().to_string();
        for (unsigned round = 0; round < 3; ++round) {
            const u64 payload = r.below(10) == 0 ? 70'000 : 100 + r.below(3000);
            for (u64 i = r.below(300); i > 0 && has_room(payload); --i) {
            }
            // By pages, or here and there.
            const u64 unit = r.below(2) == 0 ? page_size : 512;
            const u64 kept = r.below(5);
            release_where([&](const owned& o) { return o.offset / unit % 5 >= kept; });
            end_epoch();
            given_back += heap_->give_back_slabs();
            if (r.below(3) == 0) heap_->let_larger_stand_in();
            if (r.below(2) == 0) end_epoch();
            ASSERT_TRUE(look().ok()) << "life " << life << "\n" << look().to_string();
        }
        // Some of a life is lost, with a sweep in it.
        end_epoch();
        const std::vector<owned> durable = mine_;
        for (u64 i = r.below(50); i > 0 && has_room(500); --i) {
        }
        given_back += heap_->give_back_slabs();
        mine_ = durable;
    }
    EXPECT_GT(given_back, 100U);
}

}  // namespace
}  // namespace hf
