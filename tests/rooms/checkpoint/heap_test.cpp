// The allocator: blocks and extents never overlap, come back after a crash as at the end of the
// last epoch, and are not reused in the epoch that freed them.
#include "checkpoint/heap/heap.hpp"

#include "base/random.hpp"
#include "heap_on_tmpfs.hpp"
#include "support/effort.hpp"

#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <thread>

namespace hf {
namespace {

using test::must;

class heap_test : public test::heap_on_tmpfs {
   protected:
    u64 used() {
        u64 n = 0;
        for (u64 bytes : heap_->usage()) n += bytes;
        return n;
    }
};

TEST_F(heap_test, blocks_of_whole_lines_start_on_a_line) {
    open();
    for (u32 c = 0; c < block_classes; ++c) {
        if (block_size(c) % line_size != 0) continue;
        for (int i = 0; i < 20; ++i) {
            const u64 offset = allocate(block_size(c) - block_header_size);
            EXPECT_EQ(
                (reinterpret_cast<u64>(up_.file().base()) + offset - block_header_size) % line_size,
                0U);
        }
    }
}

TEST_F(heap_test, what_an_epoch_frees_is_not_handed_out_in_it) {
    open();
    std::set<u64> freed;
    std::vector<u64> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(allocate(16));
    up_.epochs().end_epoch();
    for (u64 b : blocks) {
        release(b, 16);
        freed.insert(b);
    }
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(freed.contains(allocate(16)));
    up_.epochs().end_epoch();
    unsigned again = 0;
    for (int i = 0; i < 1000; ++i) again += freed.contains(allocate(16));
    EXPECT_EQ(again, 1000U);
}

TEST_F(heap_test, random_use_with_crashes_keeps_exactly_what_was_durable) {
    for (u64 seed = 1; seed <= hf::test::effort(8U, 2U); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::filesystem::remove(file);
        xoshiro256ss r(seed);
        std::map<u64, u64> durable;  // offset -> payload
        u64 durable_use = 0;
        for (int life = 0; life < 10; ++life) {
            open();
            ASSERT_EQ(used(), durable_use);
            std::map<u64, u64> live = durable;
            const auto step = [&] {
                if (live.empty() || r.below(100) < 55) {
                    const u64 dice = r.below(200);
                    const u64 payload = dice == 0   ? 70'000 + r.below(500'000)
                                        : dice < 20 ? r.below(40'000)
                                                    : 1 + r.below(300);
                    const u64 offset = allocate(payload);
                    const auto after = live.lower_bound(offset);
                    if (after != live.end()) {
                        ASSERT_LE(offset + payload, after->first);
                    }
                    if (after != live.begin()) {
                        ASSERT_LE(std::prev(after)->first + std::prev(after)->second, offset);
                    }
                    live[offset] = payload;
                    std::memset(up_.file().base() + offset, static_cast<int>(payload & 0xff),
                                payload);
                } else {
                    auto it = live.lower_bound(r.below(up_.file().size()));
                    if (it == live.end()) it = live.begin();
                    release(it->first, it->second);
                    live.erase(it);
                }
            };
            for (u64 epochs = r.below(4); epochs > 0; --epochs) {
                for (u64 i = r.below(3000); i > 0; --i) step();
                up_.epochs().end_epoch();
                durable = live;
                durable_use = used();
            }
            for (u64 i = r.below(2000); i > 0; --i) step();
            if (HasFatalFailure()) return;
            close();
        }
        open();
        // Durable blocks have kept their bytes: no block that was rolled back had been allocated in
        // their place.
        for (const auto& [offset, payload] : durable) {
            const auto* p = reinterpret_cast<const unsigned char*>(up_.file().base() + offset);
            ASSERT_TRUE(std::all_of(p, p + payload,
                                    [&](unsigned char c) { return c == (payload & 0xff); }));
        }
        heap_->refresh(0, [] { return false; });
        up_.epochs().end_epoch();
        must(up_.checkpoint().clear_failed());
        ASSERT_EQ(used(), durable_use);
    }
}

TEST_F(heap_test, one_thread_may_free_what_another_allocates_without_growth) {
    open();
    for (int round = 0; round < 60; ++round) {
        std::vector<u64> blocks;
        for (int i = 0; i < 20'000; ++i) blocks.push_back(allocate(48));
        std::thread([&] {
            for (u64 b : blocks) release(b, 48);
        }).join();
        up_.epochs().end_epoch();
    }
    // 60 rounds of 1.2 MiB went through; what circulates is a few rounds' worth.
    EXPECT_LE(up_.file().size(), u64{80} << 20);
    EXPECT_EQ(used(), 0U);
}

TEST_F(heap_test, a_full_region_says_so_and_stays_usable) {
    max_size_ = u64{16} << 20;
    open();
    std::vector<u64> blocks;
    for (;;) {
        operation op(up_.checkpoint());
        auto offset = heap_->allocate(op, 1000);
        if (!offset) {
            EXPECT_EQ(offset.error().code, errc::no_space);
            break;
        }
        blocks.push_back(*offset);
    }
    EXPECT_GT(blocks.size(), 1000U);
    for (int i = 0; i < 100; ++i) {
        release(blocks.back(), 1000);
        blocks.pop_back();
    }
    up_.epochs().end_epoch();
    for (int i = 0; i < 100; ++i) blocks.push_back(allocate(1000));
    EXPECT_EQ(std::set<u64>(blocks.begin(), blocks.end()).size(), blocks.size());
}

TEST_F(heap_test, a_pinned_extent_is_not_reused) {
    open();
    const u64 payload = 500'000;
    const u64 offset = allocate(payload);
    up_.epochs().end_epoch();
    up_.epochs().my_lane().pinned.store(offset - block_header_size);
    release(offset, payload);
    up_.epochs().end_epoch();
    for (int i = 0; i < 20; ++i) EXPECT_NE(allocate(payload), offset);
    up_.epochs().my_lane().pinned.store(0);
    bool again = false;
    for (int i = 0; i < 20; ++i) again = again || allocate(payload) == offset;
    EXPECT_TRUE(again);
}

TEST_F(heap_test, a_reservation_that_is_never_committed_is_free_after_a_crash) {
    open();
    const u64 payload = 1 << 20;
    u64 reserved = 0;
    {
        operation op(up_.checkpoint());
        op.my_lane().mark_written();
        reserved = must(heap_->reserve_large(op, payload));
    }
    up_.epochs().end_epoch();
    open();
    EXPECT_EQ(used(), 0U);
    bool found = false;
    heap_->pages().walk([&](u64 offset, const page_run& run) {
        if (offset == reserved - block_header_size) found = run.use == page_use::free;
        return true;
    });
    EXPECT_TRUE(found);
}

// ------------------------------------------------------------------------------- ordinary memory

TEST_F(heap_test, ordinary_blocks_of_whole_lines_start_on_a_line) {
    open();
    malloc_heap ordinary(up_.checkpoint());
    operation op(up_.checkpoint());
    for (u64 payload = 1; payload < 70'000; payload += payload < 2000 ? 1 : 997) {
        const u64 offset = must(ordinary.allocate(op, payload));
        std::memset(object_at<void>(nullptr, offset), 'x', payload);
        const bool is_whole =
            is_large(payload) || block_size(class_of_block(payload + block_header_size)) % 64 == 0;
        if (is_whole) {
            ASSERT_EQ((offset - block_header_size) % line_size, 0U) << payload;
        }
        ordinary.cancel_large(offset, payload);
    }
}

TEST_F(heap_test, ordinary_blocks_are_given_back_when_their_epoch_has_ended) {
    open();
    malloc_heap ordinary(up_.checkpoint());
    const auto in_use = [] { return mallinfo2().uordblks; };  // with sanitizers always the same
    std::size_t before = 0;
    for (int round = 0; round < 300; ++round) {
        if (round == 20) before = in_use();
        {
            operation op(up_.checkpoint());
            std::set<u64> freed;
            for (int i = 0; i < 5; ++i) {
                const u64 offset = must(ordinary.allocate(op, 40'000));
                EXPECT_TRUE(freed.insert(offset).second) << "in the same epoch";
                ordinary.deallocate(op, offset, 40'000);
            }
        }
        up_.epochs().end_epoch();
    }
    EXPECT_LT(in_use(), before + (1U << 20));
}

}  // namespace
}  // namespace hf
