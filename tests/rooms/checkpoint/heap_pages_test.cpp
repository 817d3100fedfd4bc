// Runs of pages: exact fits, reservations that are held, what a pass restamps.
#include "owned_heap.hpp"

#include <cstring>
#include <functional>
#include <map>

namespace hf {
namespace {

constexpr u64 payload_of(u64 pages) { return pages * page_size - block_header_size; }

class heap_pages_test : public test::owned_heap {
   protected:
    u64 reserve(u64 pages) {
        operation op(up_.checkpoint());
        return test::must(heap_->reserve_large(op, payload_of(pages)));
    }
    void commit(u64 offset, u64 pages) {
        operation op(up_.checkpoint());
        heap_->commit_large(op, offset, payload_of(pages));
        mine_.push_back({offset, payload_of(pages)});
    }
    u64 allocate_pages(u64 pages) { return allocate(payload_of(pages)); }
    void end_epoch() { up_.epochs().end_epoch(); }
    [[nodiscard]] u64 untouched() { return heap_->pages().untouched_pages(); }
    [[nodiscard]] u64 size() { return up_.file().size(); }
    void refresh(u64 older_than) {
        heap_->refresh(older_than, [] { return false; });
    }
    /// The epoch that a block's header carries.
    [[nodiscard]] u64 stamp_of(const compact_cell& cell) {
        return compact_cell::full_epoch(cell.load().epoch, up_.epochs().current_epoch());
    }
    compact_cell& header_of(u64 payload) {
        return *up_.file().at<compact_cell>(payload - block_header_size);
    }
    compact_cell& descriptor_of(u64 payload) {
        return segment_at().descriptors()[(payload - layout::page_size) / page_size];
    }
};

TEST(heap_layout, a_segment_for_so_many_pages_has_them_and_one_to_spare_at_most) {
    for (u64 pages = 1; pages < 30'000; ++pages) {
        const u64 all = segment_pages_for(pages);
        ASSERT_GE(all - descriptor_pages(all), pages);
        ASSERT_LE(all - descriptor_pages(all), pages + 1);
    }
}

TEST(heap_layout, descriptors_and_header_fit_exactly_into_the_pages_for_them) {
    constexpr u64 in_first = (page_size - sizeof(heap_segment)) / sizeof(compact_cell);
    EXPECT_EQ(descriptor_pages(1), 1U);
    EXPECT_EQ(descriptor_pages(in_first), 1U);
    EXPECT_EQ(descriptor_pages(in_first + 1), 2U);
    EXPECT_EQ(descriptor_pages(in_first + page_size / sizeof(compact_cell)), 2U);
    EXPECT_EQ(descriptor_pages(in_first + page_size / sizeof(compact_cell) + 1), 3U);
}

TEST_F(heap_pages_test, the_last_fresh_page_is_used_before_the_region_grows) {
    open();
    const u64 before = size();
    allocate_pages(untouched());
    EXPECT_EQ(untouched(), 0U);
    EXPECT_EQ(size(), before);
    allocate_pages(1);
    EXPECT_GT(size(), before);
    expect_ok();
    const u64 grown = size();
    allocate_pages(untouched() + 1);
    EXPECT_GT(size(), grown);
    expect_ok();
}

TEST_F(heap_pages_test, free_runs_of_earlier_sessions_are_found_when_fresh_space_has_run_out) {
    open();
    const u64 run = allocate_pages(20);
    end_epoch();
    release(0);
    end_epoch();
    open();
    allocate_pages(untouched());
    const u64 before = size();
    EXPECT_EQ(allocate_pages(5), run);
    EXPECT_EQ(allocate_pages(15), run + 5 * page_size);
    EXPECT_EQ(size(), before);
    expect_ok();
}

TEST_F(heap_pages_test, a_reservation_of_a_sessions_first_epoch_is_not_handed_out_again) {
    open();
    end_epoch();
    open();
    const u64 held = reserve(10);
    allocate_pages(untouched());
    const u64 other = allocate_pages(5);  // looks for what earlier sessions left
    EXPECT_TRUE(other < held || other >= held + 10 * page_size);
    commit(held, 10);
    expect_ok();
}

TEST_F(heap_pages_test, a_reservation_that_was_cancelled_is_taken_next) {
    open();
    const u64 held = reserve(10);
    heap_->cancel_large(held, payload_of(10));
    EXPECT_EQ(allocate_pages(10), held);
    expect_ok();
}

TEST_F(heap_pages_test, what_an_epoch_frees_waits_for_its_end) {
    open();
    const u64 run = allocate_pages(20);
    end_epoch();
    release(0);
    EXPECT_NE(allocate_pages(20), run);
    end_epoch();
    EXPECT_EQ(allocate_pages(20), run);
    expect_ok();
}

TEST_F(heap_pages_test, a_pinned_run_is_not_handed_out_as_part_of_a_longer_one) {
    open();
    const u64 first = allocate_pages(5);
    const u64 second = allocate_pages(5);
    ASSERT_EQ(second, first + 5 * page_size);
    end_epoch();
    up_.epochs().my_lane().pinned = second - block_header_size;
    release(0);
    release(0);
    end_epoch();
    EXPECT_NE(allocate_pages(10), first);
    up_.epochs().my_lane().pinned = 0;
    EXPECT_EQ(allocate_pages(10), first);
    expect_ok();
}

TEST_F(heap_pages_test, a_walk_ends_where_it_is_told_to) {
    open();
    allocate_pages(untouched());
    allocate_pages(3);
    allocate_pages(4);
    std::vector<page_run> all;
    heap_->pages().walk([&](u64, const page_run& run) {
        all.push_back(run);
        return true;
    });
    ASSERT_EQ(all.size(), 4U) << "the root's, and three extents in two segments";
    for (std::size_t stop = 1; stop <= all.size(); ++stop) {
        std::size_t visits = 0;
        heap_->pages().walk([&](u64, const page_run&) { return ++visits < stop; });
        EXPECT_EQ(visits, stop);
    }
}

TEST_F(heap_pages_test, a_change_of_pages_is_told_to_the_clock) {
    open();
    end_epoch();
    ASSERT_FALSE(up_.epochs().my_lane().wrote);
    const u64 held = reserve(3);
    EXPECT_TRUE(up_.epochs().my_lane().wrote);
    end_epoch();
    commit(held, 3);
    EXPECT_TRUE(up_.epochs().my_lane().wrote);
    end_epoch();
    ASSERT_FALSE(up_.epochs().my_lane().wrote);
}

// ---------------------------------------------------------------------------------------- the pass

/// In each of a few epochs a block is freed and an extent is made.
class heap_pass_test : public heap_pages_test {
   protected:
    struct cells {
        u64 epoch;
        compact_cell* header;
        compact_cell* descriptor;
    };
    std::vector<cells> some_epochs() {
        constexpr u64 payloads[] = {1000, 1500, 2000, 2500, 3000};  // each in a list of its own
        open();
        for (const u64 payload : payloads) mine_of_[payload] = allocate(payload);
        mine_.clear();
        allocate(1000);
        end_epoch();
        std::vector<cells> all;
        for (const u64 payload : payloads) {
            mine_.push_back({mine_of_[payload], payload});
            release(mine_.size() - 1);
            const u64 made = allocate_pages(2);
            all.push_back({up_.epochs().current_epoch(), &header_of(mine_of_[payload]),
                           &descriptor_of(made)});
            end_epoch();
        }
        return all;
    }
    u64 value_of(const compact_cell& cell) {
        return cell.read(up_.checkpoint().failed(), up_.epochs().current_epoch());
    }

    std::map<u64, u64> mine_of_;  ///< payload -> offset
};

TEST_F(heap_pass_test, restamps_what_is_older_than_it_was_told_and_nothing_else) {
    const auto all = some_epochs();
    const u64 now = up_.epochs().current_epoch();
    for (const cells& told : all) {
        std::vector<std::pair<u64, u64>> were;
        for (const cells& c : all) were.emplace_back(value_of(*c.header), value_of(*c.descriptor));
        refresh(told.epoch);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const u64 right = all[i].epoch < told.epoch ? now : all[i].epoch;
            EXPECT_EQ(stamp_of(*all[i].header), right) << i;
            EXPECT_EQ(stamp_of(*all[i].descriptor), right) << i;
            EXPECT_EQ(value_of(*all[i].header), were[i].first);
            EXPECT_EQ(value_of(*all[i].descriptor), were[i].second);
        }
        expect_ok();
    }
}

TEST_F(heap_pass_test, that_is_cancelled_restamps_nothing) {
    const auto all = some_epochs();
    heap_->refresh(up_.epochs().current_epoch(), [] { return true; });
    for (const cells& c : all) {
        EXPECT_EQ(stamp_of(*c.header), c.epoch);
        EXPECT_EQ(stamp_of(*c.descriptor), c.epoch);
    }
}

TEST_F(heap_pass_test, restamps_what_a_failed_epoch_has_left_as_it_was_before) {
    (void)some_epochs();
    const owned block = mine_[0];
    const owned extent = mine_[1];
    const u64 failed = up_.epochs().current_epoch();
    const u64 next = value_of(header_of(block.offset));
    const u64 run = value_of(descriptor_of(extent.offset));
    release(1);
    release(0);
    open();
    const compact_cell* const both[] = {&header_of(block.offset), &descriptor_of(extent.offset)};
    for (const compact_cell* cell : both) {
        ASSERT_TRUE(cell->needs_recovery(up_.checkpoint().failed(), failed + 1));
    }
    refresh(0);
    for (const compact_cell* cell : both) {
        EXPECT_FALSE(cell->needs_recovery(up_.checkpoint().failed(), failed + 1));
        EXPECT_EQ(stamp_of(*cell), failed + 1);
    }
    EXPECT_EQ(value_of(*both[0]), next);
    EXPECT_EQ(value_of(*both[1]), run);
    mine_.push_back(block);
    mine_.push_back(extent);
    expect_ok();
}

TEST_F(heap_pass_test, tells_the_clock_of_what_it_restamps) {
    (void)some_epochs();
    const u64 now = up_.epochs().current_epoch();
    const auto wrote = [&](const std::function<void(lane&)>& act) {
        bool is_told = false;
        end_epoch();
        up_.epochs().with_world_stopped([&](lane& l) {
            act(l);
            is_told = l.wrote;
        });
        return is_told;
    };
    EXPECT_FALSE(wrote([](lane&) {}));
    EXPECT_TRUE(wrote([&](lane& l) { heap_->pages().refresh(l, now); }));
    EXPECT_FALSE(wrote([&](lane& l) { heap_->pages().refresh(l, now); }));
    refresh(now);  // headers alone are left
    up_.epochs().with_world_stopped([](lane& l) { EXPECT_TRUE(l.wrote); });
    end_epoch();
    refresh(now);
    up_.epochs().with_world_stopped([](lane& l) { EXPECT_FALSE(l.wrote); });
}

TEST_F(heap_pass_test, touches_no_byte_behind_a_slab) {
    open();
    const u64 block = allocate(16) - block_header_size;  // its slab is all blocks, to the last byte
    ASSERT_EQ(u64{slab_blocks(0)} * block_size(0), page_size);
    const u64 extent = allocate_pages(2) - block_header_size;
    ASSERT_EQ(extent, block + page_size);
    auto* words = up_.file().at<u64>(extent);
    words[0] = 1;  // as a cell it would be torn
    words[1] = 0;
    end_epoch();
    refresh(up_.epochs().current_epoch());
    EXPECT_EQ(words[0], 1U);
    EXPECT_EQ(words[1], 0U);
    expect_ok();
}

}  // namespace
}  // namespace hf
