// Epochs, barrier, tickets, external log and failed epochs of a domain on a region in tmpfs.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "checkpoint/domain.hpp"
#include "checkpoint/superblock_areas.hpp"
#include "must.hpp"
#include "scratch.hpp"
#include "sync/spin_lock.hpp"

namespace hf {
namespace {

constexpr auto no_clock = std::chrono::microseconds(0);

using test::must;

class domain_test : public test::on_tmpfs {
   protected:
    void open(std::chrono::microseconds epoch = no_clock, u64 first_epoch = 1,
              u64 bytes = u64{1} << 20) {
        domain_.reset();
        region_.reset();
        region_options o;
        o.initial_size = bytes;
        o.first_epoch = first_epoch;
        o.flush = flush_policy::always;
        region_ = must(open_region(file, o)).file;
        domain_ = must(domain::open(*region_, {.epoch = epoch}));
        must(domain_->recover_log());
        must(domain_->start());
        domain_->start_clock();
    }
    void crash() {
        domain_.reset();
        region_.reset();
    }
    /// A place for test data: the first heap segment.
    char* bytes(u64 at = 0) { return region_->at<char>(layout::page_size + at); }

    std::unique_ptr<region> region_;
    std::unique_ptr<domain> domain_;
};

TEST_F(domain_test, epochs_count_up_durably_and_survive_a_clean_close) {
    open();
    const u64 first = domain_->current_epoch();
    domain_->end_epoch();
    domain_->end_epoch();
    EXPECT_EQ(domain_->current_epoch(), first + 2);
    EXPECT_EQ(domain_->durable_epoch(), first + 1);
    must(domain_->close());
    open();
    EXPECT_FALSE(domain_->needs_recovery());
    EXPECT_EQ(domain_->current_epoch(), first + 3);
    EXPECT_TRUE(domain_->failed().empty());
}

TEST_F(domain_test, every_crash_adds_its_epoch_to_the_failed_set) {
    open();
    std::vector<u64> crashed;
    for (int i = 0; i < 5; ++i) {
        domain_->end_epoch();
        crashed.push_back(domain_->current_epoch());
        crash();
        open();
        for (u64 e : crashed) EXPECT_TRUE(domain_->failed().contains(e));
        EXPECT_EQ(domain_->failed().count(), crashed.size());
        EXPECT_FALSE(domain_->failed().contains(domain_->current_epoch()));
        EXPECT_EQ(domain_->horizon(), crashed.back() + 1);
    }
    must(domain_->clear_failed());
    EXPECT_EQ(domain_->horizon(), 0U);
    crash();
    open();
    EXPECT_EQ(domain_->failed().count(), 1U);
}

TEST_F(domain_test, crashes_in_the_first_epoch_of_a_session_extend_one_range) {
    open();
    for (unsigned i = 0; i < 3 * max_failed_ranges; ++i) {
        crash();
        open();
    }
    EXPECT_EQ(domain_->failed().ranges().size(), 1U);
    EXPECT_FALSE(domain_->must_sweep_first());
}

TEST_F(domain_test, a_set_that_is_nearly_full_asks_to_be_swept) {
    open();
    for (unsigned i = 0; i + 1 < max_failed_ranges && !domain_->must_sweep_first(); ++i) {
        domain_->end_epoch();
        crash();
        open();
    }
    EXPECT_TRUE(domain_->must_sweep_first());
    must(domain_->clear_failed());
    EXPECT_FALSE(domain_->must_sweep_first());
}

TEST_F(domain_test, the_log_brings_objects_back_and_only_those_of_the_crashed_epoch) {
    open();
    std::memset(bytes(), 'a', 1024);
    const auto log = [&](u64 at) {
        operation op(*domain_);
        const log_object o{layout::page_size + at, 300};
        must(op.my_lane().log.append(std::span(&o, 1), op.epoch()));
    };
    log(0);
    std::memset(bytes(), 'b', 300);
    domain_->end_epoch();
    log(512);
    std::memset(bytes(512), 'c', 300);
    crash();
    open();
    EXPECT_EQ(domain_->recovered_entries(), 1U);
    EXPECT_EQ(bytes()[0], 'b') << "an entry of a complete epoch was applied";
    EXPECT_EQ(bytes(512)[0], 'a') << "an entry of the crashed epoch was not applied";
}

TEST_F(domain_test, a_torn_entry_ends_its_segment) {
    open();
    std::memset(bytes(), 'a', 4096);
    u64 entry_at = 0;
    {
        operation op(*domain_);
        const log_object o[2] = {{layout::page_size, 300}, {layout::page_size + 512, 300}};
        must(op.my_lane().log.append(std::span(o, 2), op.epoch()));
        for (const segment& s : region_->segments()) {
            if (s.kind == segment_kind::log) entry_at = s.offset;
        }
    }
    std::memset(bytes(), 'b', 300);
    std::memset(bytes(512), 'b', 300);
    region_->at<char>(entry_at)[detail::log_entry_stride(300) + 100] ^= 1;
    crash();
    open();
    EXPECT_EQ(domain_->recovered_entries(), 1U);
    EXPECT_EQ(bytes()[0], 'a');
    EXPECT_EQ(bytes(512)[0], 'b');
}

TEST_F(domain_test, an_object_is_logged_while_others_try_the_lock_that_lies_in_it) {
    open();
    auto& lock = *reinterpret_cast<std::atomic<u64>*>(bytes(0));
    lock.store(1);  // held by the one who logs
    std::atomic<bool> is_logged{false};
    std::atomic<u64> tries{0};
    std::thread other([&] {
        while (!is_logged.load(std::memory_order_relaxed)) {
            u64 seen = 0;
            EXPECT_FALSE(lock.compare_exchange_strong(seen, 2, std::memory_order_acquire));
            tries.fetch_add(1, std::memory_order_relaxed);
        }
    });
    while (tries.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
    {
        operation op(*domain_);
        const log_object o{layout::page_size, 300};
        for (int i = 0; i < 1000; ++i) must(op.my_lane().log.append(std::span(&o, 1), op.epoch()));
    }
    is_logged.store(true, std::memory_order_relaxed);
    other.join();
    crash();
    open();
    EXPECT_EQ(*reinterpret_cast<u64*>(bytes(0)), 1U);
}

TEST_F(domain_test, the_log_grows_and_all_of_it_is_applied) {
    open(no_clock, 1, u64{8} << 20);
    constexpr u64 objects = 4000;
    constexpr u64 large_objects = 1000;
    std::memset(bytes(), 'a', objects * 64);
    {
        operation op(*domain_);
        for (u64 i = 0; i < objects; ++i) {
            const log_object o{layout::page_size + i * 64, 64};
            must(op.my_lane().log.append(std::span(&o, 1), op.epoch()));
        }
        // Small objects fit into one segment; large ones make several.
        for (u64 i = 0; i < large_objects; ++i) {
            const log_object o{layout::page_size + objects * 64 + i * max_log_object,
                               max_log_object};
            must(op.my_lane().log.append(std::span(&o, 1), op.epoch()));
        }
    }
    std::memset(bytes(), 'b', objects * 64);
    crash();
    open();
    EXPECT_EQ(domain_->recovered_entries(), objects + large_objects);
    for (u64 i = 0; i < objects * 64; ++i) ASSERT_EQ(bytes()[i], 'a');
}

TEST_F(domain_test, a_boundary_writes_back_exactly_the_noted_lines) {
    open();
    (void)domain_->my_lane();
    const auto before = total_persist_counters();
    {
        operation op(*domain_);
        op.my_lane().mark_written();
        op.my_lane().note_sticky(bytes(), 3 * line_size);
        op.my_lane().note_once(bytes(4096), 1);
    }
    domain_->end_epoch();
    const auto after = total_persist_counters();
    EXPECT_EQ(after.flushes - before.flushes, 3U + 1U + 1U);  // and the epoch record
}

TEST_F(domain_test, no_operation_straddles_a_boundary) {
    open(std::chrono::milliseconds(1));
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            while (!stop) {
                operation op(*domain_);
                op.my_lane().mark_written();
                const u64 epoch = op.epoch();
                for (int i = 0; i < 50; ++i) cpu_relax();
                ASSERT_EQ(domain_->current_epoch(), epoch);
                ASSERT_LT(domain_->durable_epoch(), epoch);
            }
        });
    }
    const u64 start = domain_->current_epoch();
    while (domain_->current_epoch() < start + 30) std::this_thread::yield();
    stop = true;
    for (auto& t : threads) t.join();
}

TEST_F(domain_test, waiting_for_a_ticket_ends_its_epoch) {
    open(std::chrono::seconds(10));
    u64 ticket = 0;
    {
        operation op(*domain_);
        op.my_lane().mark_written();
        ticket = op.epoch();
    }
    EXPECT_LT(domain_->durable_epoch(), ticket);
    must(domain_->wait_durable(ticket));
    EXPECT_GE(domain_->durable_epoch(), ticket);
}

TEST_F(domain_test, lanes_are_taken_over_by_later_threads) {
    open();
    for (int i = 0; i < 1000; ++i) {
        std::thread([&] { operation op(*domain_); }).join();
    }
    EXPECT_LE(domain_->lanes_used(), 4U);
}

TEST_F(domain_test, refuses_an_impossible_set_of_failed_epochs) {
    open();
    crash();
    const std::function<void(checkpoint_state&)> changes[] = {
        [](checkpoint_state& c) { c.failed_count = max_failed_ranges + 1; },
        [](checkpoint_state& c) { c.failed_count = ~u32{0}; },
        [](checkpoint_state& c) {
            c.failed_count = 1;
            c.failed[0] = {9, 8};
        },
        [](checkpoint_state& c) {
            c.failed_count = 2;
            c.failed[0] = {3, 8};
            c.failed[1] = {8, 9};
        }};
    for (const auto& change : changes) {
        test::change_superblocks(
            file, [&](layout::superblock& s) { change_checkpoint_state(s, change); });
        region_ = must(open_region(file, region_options{})).file;
        const auto refused = domain::open(*region_, {.epoch = no_clock});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::corrupt);
        region_.reset();
    }
}

TEST_F(domain_test, refuses_epochs_outside_of_1_ms_to_10_s) {
    region_options o;
    o.initial_size = u64{1} << 20;
    region_ = must(open_region(file, o)).file;
    for (const auto epoch : {std::chrono::microseconds(999), std::chrono::microseconds(10'000'001),
                             std::chrono::microseconds(-5)}) {
        const auto refused = domain::open(*region_, {.epoch = epoch});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::usage);
    }
}

}  // namespace
}  // namespace hf
