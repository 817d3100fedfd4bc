// Lists that change hands: of threads that ended, of earlier sessions, of lanes with a surplus.
#include "owned_heap.hpp"

#include <functional>
#include <set>
#include <thread>
#include <tuple>

namespace hf {
namespace {

constexpr u64 payload_of_1k = 1000;
constexpr u32 class_of_1k = class_of_block(payload_of_1k + block_header_size);
constexpr unsigned blocks_of_1k = slab_blocks(class_of_1k);

class heap_lists_test : public test::owned_heap {
   protected:
    /// This thread has a lane of its own before others come.
    void open_and_take_a_lane() {
        open();
        allocate(16);
    }
    static void in_a_thread(const std::function<void()>& work) { std::thread(work).join(); }
    void allocate_some(unsigned n) {
        for (unsigned i = 0; i < n; ++i) allocate(payload_of_1k);
    }
    void release_last(unsigned n) {
        for (unsigned i = 0; i < n; ++i) release(mine_.size() - 1);
    }
    /// In the list that all lanes may take from.
    u64 shared_blocks(u64 payload) {
        operation op(up_.checkpoint());
        u64 n = 0;
        const u32 size_class = class_of_block(payload + block_header_size);
        for (u64 b = heap_->lists(0, size_class).lists.get(class_lists::free); b != 0; ++n) {
            b = heap_->next_block(b, op.failed(), op.epoch());
        }
        return n;
    }
    void end_epoch() { up_.epochs().end_epoch(); }
    void expect_slabs(u64 n) {
        const audit_report report = look();
        EXPECT_TRUE(report.ok()) << report.to_string();
        EXPECT_EQ(report.heap.classes[class_of_1k].slabs, n);
    }
};

class heap_heritage_test : public heap_lists_test,
                           public testing::WithParamInterface<std::tuple<unsigned, int>> {
   protected:
    enum list : unsigned { bump, free_blocks, pending, all };

    /// The lists that a thread leaves, and how many blocks of its slab are in no list.
    unsigned leave(unsigned what) {
        switch (what) {
            case bump:
                allocate_some(1);
                return 1;
            case free_blocks:
                allocate_some(blocks_of_1k);
                release_last(blocks_of_1k);
                end_epoch();
                allocate_some(1);
                return 1;
            case pending:
                allocate_some(blocks_of_1k);
                release_last(blocks_of_1k - 1);
                return 1;
            default:
                allocate_some(10);
                end_epoch();
                release_last(4);
                end_epoch();
                allocate_some(1);
                release_last(2);
                return 5;
        }
    }
};

TEST_P(heap_heritage_test, is_used_up_before_a_new_slab_is_made) {
    const auto [what, when] = GetParam();
    open_and_take_a_lane();
    unsigned in_use = 0;
    in_a_thread([&] { in_use = leave(std::get<0>(GetParam())); });
    expect_slabs(1);
    if (when == 2) {  // an earlier session's
        end_epoch();
        open_and_take_a_lane();
    } else if (when == 1) {
        end_epoch();
    }
    // Blocks that were freed in this epoch wait, and so do those that remain when other lists of
    // the lane were taken.
    const bool waits = what == all || (what == pending && when == 0);
    const unsigned waiting = !waits ? 0 : what == pending ? blocks_of_1k - 1 : 2;
    allocate_some(blocks_of_1k - in_use - waiting);
    expect_slabs(1);
    allocate_some(1);
    expect_slabs(2);
    if (waits) {
        end_epoch();
        allocate_some(blocks_of_1k - 1 + waiting);
        expect_slabs(2);
    }
}

INSTANTIATE_TEST_SUITE_P(of_a_thread, heap_heritage_test,
                         testing::Combine(testing::Range(0U, 4U), testing::Range(0, 3)));

TEST_F(heap_lists_test, of_several_ended_threads_are_taken_one_after_the_other) {
    open_and_take_a_lane();
    in_a_thread([&] {
        allocate_some(1);
        in_a_thread([&] {
            allocate_some(2);
            in_a_thread([&] { allocate_some(3); });
        });
    });
    for (unsigned left = 3 * blocks_of_1k - 6; left > 0; --left) {
        allocate_some(1);
        if (left % 20 == 0) expect_slabs(3);
    }
    expect_slabs(3);
}

TEST_F(heap_lists_test, of_living_threads_are_theirs) {
    open_and_take_a_lane();
    in_a_thread([&] {
        allocate_some(1);
        in_a_thread([&] { allocate_some(1); });
    });
    expect_slabs(2);
}

TEST_F(heap_lists_test, with_a_surplus_are_shared) {
    constexpr u64 small = 32;  // not of the class of this thread's own block
    constexpr unsigned many = 5000;
    constexpr unsigned given = 70;  // more than are taken at a time
    open_and_take_a_lane();
    std::set<u64> shared;
    in_a_thread([&] {
        for (unsigned i = 0; i < many; ++i) allocate(small);
        end_epoch();
        while (mine_.size() > 2 * given) release(mine_.size() - 1);
        end_epoch();
        allocate(small);
        end_epoch();
        for (unsigned i = 0; i < given; ++i) {
            shared.insert(mine_.back().offset);
            release(mine_.size() - 1);
        }
        end_epoch();
        release(mine_.size() - 1);
    });
    expect_ok();
    EXPECT_EQ(shared_blocks(small), given);
    for (unsigned i = 0; i < given; ++i) {
        EXPECT_EQ(shared.erase(allocate(small)), 1U) << i;
        EXPECT_EQ(shared_blocks(small), i < 64 ? given - 64 : 0) << "64 are taken at a time";
        if (i % 10 == 0) expect_ok();
    }
    end_epoch();
    for (unsigned i = 0; i < given; ++i) release(mine_.size() - 1);
    expect_ok();
}

TEST_F(heap_lists_test, are_shared_from_a_surplus_of_4096_blocks_on) {
    for (const unsigned surplus : {4096U, 4097U}) {
        SCOPED_TRACE(surplus);
        std::filesystem::remove(file);
        open();
        mine_.clear();
        const unsigned free = surplus + 2;  // and twice what waits, which is one block
        for (unsigned i = 0; i < free + 3; ++i) allocate(16);
        end_epoch();
        for (unsigned i = 0; i < free + 1; ++i) release(mine_.size() - 1);
        end_epoch();
        allocate(16);
        end_epoch();
        release(0);
        end_epoch();
        EXPECT_EQ(shared_blocks(16), 0U);
        allocate(16);
        EXPECT_EQ(shared_blocks(16), surplus > 4096 ? 1U : 0U);
        expect_ok();
    }
}

TEST_F(heap_lists_test, of_an_earlier_session_are_no_surplus) {
    open();
    allocate_some(20);
    end_epoch();
    release_last(10);
    end_epoch();
    allocate_some(1);
    end_epoch();
    open();
    for (int i = 0; i < 4; ++i) {
        allocate_some(1);
        release_last(2);
        end_epoch();
    }
    allocate_some(1);
    EXPECT_EQ(shared_blocks(payload_of_1k), 0U);
    expect_ok();
}

TEST_F(heap_lists_test, count_what_is_handed_out) {
    open_and_take_a_lane();
    allocate_some(7);
    allocate(300'000);
    in_a_thread([&] {
        allocate_some(2);
        release_last(2);
    });
    auto usage = heap_->usage();
    EXPECT_EQ(usage[0], 32U);
    EXPECT_EQ(usage[class_of_1k], 7 * block_size(class_of_1k));
    EXPECT_EQ(usage[extent_class], 5 * page_size);
    for (u32 c = 1; c < block_classes; ++c) {
        if (c != class_of_1k) {
            EXPECT_EQ(usage[c], 0U) << c;
        }
    }
    lists_of(500).live = 0xffff'ffff;
    EXPECT_EQ(heap_->usage()[class_of_block(516)], 0U) << "less than none";
}

}  // namespace
}  // namespace hf
