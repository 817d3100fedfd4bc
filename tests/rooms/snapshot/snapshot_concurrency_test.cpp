// Threads that store under guards while a clock takes checkpoints. Memory is plain: under
// ThreadSanitizer the guards alone order a thread's stores and the copying at the boundary.
#include "holdfast/snapshot.hpp"
#include "snapshot/journalled.hpp"
#include "support/effort.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

namespace hf {
namespace {

using test::must;
constexpr unsigned threads = 3;

/// Each thread has cells of its own, some in lines that others store to as well; all cells of a
/// thread are equal whenever no guard is held.
struct cells {
    static constexpr u64 of_each = 400;
    u64 value[of_each][threads];
    [[nodiscard]] u64* of(unsigned thread, u64 i) { return &value[i][thread]; }
};

bool consistent(cells& c, unsigned thread) {
    for (u64 i = 1; i < cells::of_each; ++i) {
        if (*c.of(thread, i) != *c.of(thread, 0)) return false;
    }
    return true;
}

class guarded_snapshots : public test::on_tmpfs {
   protected:
    [[nodiscard]] snapshot open() const {
        snapshot_options o;
        o.bytes = u64{1} << 20;
        o.epoch = std::chrono::milliseconds(1);
        o.region.medium = medium_kind::file;
        return must(snapshot::open(file, o));
    }
};

void count_up(snapshot& s, unsigned thread, u64 times) {
    auto& c = *s.root<cells>();
    for (u64 n = 0; n < times; ++n) {
        const snapshot::guard inside(s);
        for (u64 i = 0; i < cells::of_each; ++i) ++*c.of(thread, i);
    }
}

TEST_F(guarded_snapshots, a_checkpoint_has_all_of_a_guards_stores_or_none) {
    for (int round = 0; round < hf::test::effort(4); ++round) {
        const int ended = test::in_child([this] {
            snapshot s = open();
            std::atomic<unsigned> at_work{0};
            std::vector<std::thread> all;
            for (unsigned t = 0; t < threads; ++t) {
                all.emplace_back([&, t] {
                    count_up(s, t, 1);
                    ++at_work;
                    count_up(s, t, ~u64{0});
                });
            }
            while (at_work < threads) std::this_thread::yield();
            const ticket begun = s.durable();
            while (s.durable() < begun + 20) std::this_thread::yield();
            ::raise(SIGKILL);
            for (auto& one : all) one.join();
            return 0;
        });
        ASSERT_EQ(ended, 1000 + SIGKILL);
        snapshot s = open();
        EXPECT_TRUE(s.recovered());
        for (unsigned t = 0; t < threads; ++t) {
            EXPECT_TRUE(consistent(*s.root<cells>(), t)) << t;
            EXPECT_GT(*s.root<cells>()->of(t, 0), 0U);
        }
    }
}

TEST_F(guarded_snapshots, threads_store_wait_grow_and_ask_while_the_clock_runs) {
    constexpr u64 times = 400;
    {
        snapshot s = open();
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads; ++t) {
            all.emplace_back([&s, t] {
                for (u64 n = 0; n < times / 20; ++n) {
                    count_up(s, t, 20);
                    if (t == 0) must(s.checkpoint_durably());
                    if (t == 1 && n % 4 == 0) must(s.grow(1));
                    const ticket durable = s.durable();
                    EXPECT_GT(s.stats().epoch, durable);
                }
            });
        }
        for (auto& one : all) one.join();
        must(s.close());
    }
    const snapshot s = open();
    for (unsigned t = 0; t < threads; ++t) {
        EXPECT_TRUE(consistent(*s.root<cells>(), t));
        EXPECT_EQ(*s.root<cells>()->of(t, 0), times);
    }
}

class little_memory : public guarded_snapshots,
                      public ::testing::WithParamInterface<page_tracking> {};

// Writers may be through before the first boundary, or have to wait for memory: in the end what is
// beyond the budget is given back, by the clock alone, and all of it reads as it was written.
TEST_P(little_memory, is_enough_for_a_larger_region) {
    constexpr u64 bytes = u64{6} << 20;
    constexpr u64 stretch = u64{32} << 10;
    snapshot_options o;
    o.bytes = bytes;
    o.epoch = std::chrono::milliseconds(2);
    o.tracking = GetParam();
    o.region.medium = medium_kind::file;
    o.region.memory = u64{2} << 20;
    snapshot s = must(snapshot::open(file, o));
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&s, t] {
            for (u64 at = t * stretch; at + stretch <= bytes; at += threads * stretch) {
                const snapshot::guard inside(s);
                std::memset(s.memory().data() + at, static_cast<int>(at / stretch % 250 + 1),
                            stretch);
            }
        });
    }
    for (auto& one : all) one.join();
    while (s.stats().journal.private_bytes > o.region.memory ||
           s.stats().journal.given_back_bytes == 0) {
        std::this_thread::yield();
    }
    for (u64 at = 0; at + stretch <= bytes; at += stretch / 2) {
        ASSERT_EQ(s.memory()[at], static_cast<std::byte>(at / stretch % 250 + 1)) << at;
    }
}

INSTANTIATE_TEST_SUITE_P(ways, little_memory,
                         ::testing::Values(page_tracking::written, page_tracking::copies,
                                           page_tracking::all),
                         [](const auto& one) {
                             const auto way = static_cast<page_tracker::way>(one.param);
                             return std::string(to_string(way));
                         });

}  // namespace
}  // namespace hf
