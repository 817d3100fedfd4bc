// Epochs on a disk that is full, or slow: which threads wait, which are notified, and what the
// clock does.
#include "base/clock.hpp"
#include "captures.hpp"
#include "epochs.hpp"
#include "support/effort.hpp"
#include "sync/spin_lock.hpp"

#include <atomic>
#include <barrier>
#include <vector>

namespace hf {
namespace {

using std::chrono::milliseconds;
using test::comes_true;
using test::must;
using test::waiting;
using way = page_tracker::way;

constexpr u64 megabyte = u64{1} << 20;
constexpr u64 page = private_pages::page_bytes;

class disk_session : public test::epochs_on_tmpfs {
   protected:
    void open_on_disk(const opening_options& o, std::chrono::microseconds epoch = no_clock) {
        crash();
        opened_ = must(open_region(file, o));
        epochs_ = must(epoch_manager::open(opened_, {.epoch = epoch}));
        must(epochs_->start());
    }
    void open_on_disk(std::chrono::microseconds epoch = no_clock) {
        open_on_disk(test::on_disk(megabyte), epoch);
    }
    [[nodiscard]] dirty_set& dirty() const { return *opened_.journal->dirty(); }
    [[nodiscard]] u64 now() const { return epochs_->current_epoch(); }
    [[nodiscard]] bool stays() const {
        const u64 running = now();
        std::this_thread::sleep_for(milliseconds(15));
        return now() == running;
    }
};

TEST_F(disk_session, a_full_disk_is_told_to_all_who_wait_and_forgotten_when_it_has_room) {
    open_on_disk();
    const u64 first = write(0, 'a');
    u64 last = 0;
    {
        const test::full_disk full;
        epochs_->end_epoch();
        ASSERT_TRUE(comes_true([this] { return !epochs_->accepts_writes(); }));
        std::vector<std::unique_ptr<waiting>> several;
        for (int i = 0; i < 3; ++i) {
            several.push_back(std::make_unique<waiting>([&] {
                const auto refused = epochs_->wait_durable(first);
                ASSERT_FALSE(refused);
                EXPECT_EQ(refused.error().code, errc::no_space);
            }));
        }
        for (const auto& w : several) EXPECT_TRUE(w->ends());
        epochs_->end_epoch();  // both captures are taken
        last = write(0, 'b');
        epochs_->end_epoch();
        EXPECT_EQ(now(), last) << "an epoch that cannot be captured goes on";
        EXPECT_FALSE(epochs_->wait_durable(last));
        epochs_->wait_for_base();  // nor is the base waited for
        EXPECT_EQ(now(), last);
        EXPECT_EQ(epochs_->close().error().code, errc::no_space);
    }
    ASSERT_TRUE(comes_true([this] { return epochs_->accepts_writes().has_value(); }));
    must(epochs_->wait_durable(last));
    EXPECT_EQ(now(), last + 1);
    must(epochs_->close());
    open();
    EXPECT_EQ(*bytes(0), 'b');
}

// The disk becomes full, and has room again, while they wait: no thread misses it.
TEST_F(disk_session, a_promise_that_a_full_disk_breaks_is_somebody_elses) {
    open_on_disk();
    for (int round = 0; round < 2; ++round) {
        u64 ticket = 0;
        {
            const test::full_disk full;
            ticket = write(0, 'a');
            epochs_->end_epoch();
            epochs_->end_epoch();
            ASSERT_TRUE(comes_true([this] { return !epochs_->accepts_writes(); }));
            ticket = write(0, 'b');
            ASSERT_EQ(ticket, now());
            EXPECT_FALSE(epochs_->wait_durable(ticket));
        }
        ASSERT_TRUE(comes_true([this] { return epochs_->accepts_writes().has_value(); }));
        const waiting one([&] { must(epochs_->wait_durable(ticket)); });
        const waiting other([&] { must(epochs_->wait_durable(ticket)); });
        ASSERT_TRUE(one.ends() && other.ends());
        EXPECT_EQ(epochs_->durable_epoch(), ticket);
    }
}

// The disk becomes full while a thread that has promised to end an epoch lets others gather.
TEST_F(disk_session, a_promise_under_way_is_broken_by_a_full_disk_and_can_be_given_again) {
    open_on_disk();
    u64 ticket = 0;
    {
        auto still = std::make_unique<test::held_base>(file);
        for (int i = 0; i < 2; ++i) {  // more than the journal has room for: it waits for the base
            epochs_->with_world_stopped(
                [&](lane&) { dirty().note(bytes(0), megabyte - layout::page_size); });
            epochs_->end_epoch();
        }
        epochs_->end_epoch();
        ASSERT_FALSE(epochs_->journal()->redo()->is_ready());
        ticket = write(0, 'a');
        ASSERT_TRUE(epochs_->accepts_writes());
        const waiting one([&] {
            const auto refused = epochs_->wait_durable(ticket);
            ASSERT_FALSE(refused);
            EXPECT_EQ(refused.error().code, errc::no_space);
        });
        EXPECT_TRUE(one.still());
        const test::full_disk full;
        still.reset();
        EXPECT_TRUE(one.ends());
        EXPECT_EQ(now(), ticket) << "it could not be captured";
    }
    ASSERT_TRUE(comes_true([this] { return epochs_->accepts_writes().has_value(); }));
    const waiting again([&] { must(epochs_->wait_durable(ticket)); });
    ASSERT_TRUE(again.ends());
    EXPECT_EQ(epochs_->durable_epoch(), ticket);
}

// A thread that comes in the moment of an announcement finds the epoch durable, or is woken.
TEST_F(disk_session, nobody_sleeps_through_the_announcement_of_an_epoch) {
    open_on_disk();
    std::barrier both(2);
    const u64 rounds = test::scaled(6000);
    u64 ticket = 0;
    std::thread waits([&] {
        for (u64 round = 0; round < rounds; ++round) {
            both.arrive_and_wait();
            for (u64 i = 0; i < round % 997; ++i) cpu_relax();
            must(epochs_->wait_durable(ticket));
            both.arrive_and_wait();
        }
    });
    for (u64 round = 0; round < rounds; ++round) {
        ticket = write(0, 'a');
        epochs_->end_epoch();
        both.arrive_and_wait();
        both.arrive_and_wait();
    }
    waits.join();
}

TEST_F(disk_session, who_wants_an_epoch_durable_lets_others_gather_until_the_disk_is_free) {
    constexpr u64 size = u64{64} << 20;
    open_on_disk(test::on_disk(size));
    for (int round = 0; round < 5; ++round) {
        const u64 large = now();
        epochs_->with_world_stopped(
            [&](lane&) { dirty().note(bytes(0), size - layout::page_size); });
        epochs_->end_epoch();
        const u64 small = write(0, 'a');
        ASSERT_EQ(small, large + 1);
        std::atomic<u64> durable_then{0};
        const waiting watcher([&] {
            while (now() == small) std::this_thread::yield();
            durable_then = epochs_->durable_epoch();
        });
        must(epochs_->wait_durable(small));
        ASSERT_TRUE(watcher.ends());
        EXPECT_GE(durable_then, large);
    }
}

TEST_F(disk_session, a_writer_that_is_far_ahead_waits_for_the_end_of_the_epoch) {
    open_on_disk(longest_epoch);  // its clock is not started: no thread ends an epoch
    dirty().set_limit(2);
    const u64 start = now_ns();
    for (int i = 0; i < 10'000; ++i) epochs_->slow_writer();
    // A thread that waits does so for a millisecond at least, each time.
    EXPECT_LT(now_ns() - start, 10'000'000'000U) << "who is not ahead does not wait";
    dirty().note(bytes(0), 20 * line_size);
    const waiting writer([this] { epochs_->slow_writer(); });
    EXPECT_TRUE(writer.still());
    epochs_->end_epoch();
    EXPECT_TRUE(writer.ends());
}

TEST_F(disk_session, without_a_clock_no_writer_waits_for_it) {
    open_on_disk(no_clock);
    dirty().set_limit(2);
    dirty().note(bytes(0), 20 * line_size);
    epochs_->slow_writer();  // returns
}

TEST_F(disk_session, the_clock_ends_an_epoch_early_that_holds_much) {
    const u64 start = now_ns();
    open_on_disk(longest_epoch);
    epochs_->start_clock();
    dirty().set_limit(2);
    dirty().note(bytes(0), 2 * line_size);
    EXPECT_TRUE(stays());
    const u64 e = now();
    dirty().note(bytes(0), 3 * line_size);
    EXPECT_TRUE(comes_true([&] { return epochs_->durable_epoch() >= e; }));
    EXPECT_LT(now_ns() - start, static_cast<u64>(longest_epoch / std::chrono::nanoseconds(1)))
        << "at the end of its time";
    EXPECT_EQ(now(), e + 1);
}

TEST_F(disk_session, the_clock_ends_an_epoch_of_which_lines_are_dirty_whoever_named_them) {
    open_on_disk(milliseconds(1));
    epochs_->start_clock();
    ASSERT_TRUE(comes_true([this] { return stays(); }));
    const u64 e = now();
    dirty().note(bytes(0), 1);
    EXPECT_TRUE(comes_true([&] { return epochs_->durable_epoch() >= e; }));
}

TEST_F(disk_session, with_a_disk_that_is_behind_epochs_grow_and_the_gate_stays_open) {
    open_on_disk(milliseconds(1));
    {
        const test::full_disk full;
        for (int i = 0; i < 2; ++i) {
            write(0, 'a');
            epochs_->end_epoch();
        }
        ASSERT_TRUE(comes_true([this] { return !epochs_->accepts_writes(); }));
        EXPECT_EQ(epochs_->journal_numbers().late_ns, 0U);
        const u64 e = write(0, 'b');
        epochs_->start_clock();
        ASSERT_TRUE(comes_true([this] { return epochs_->journal_numbers().late_ns > 3'000'000; }));
        EXPECT_EQ(now(), e);
        EXPECT_EQ(write(0, 'c'), e) << "operations go on";
    }
    const u64 e = now();
    EXPECT_TRUE(comes_true([&] { return epochs_->durable_epoch() >= e; }));
}

class slow_base : public disk_session {
   protected:
    /// Memory is short, pages are tracked by a way that repeats itself, and the base stands still.
    void fall_behind() {
        ++value_;
        for (u64 p = 0; p < 400; ++p) *bytes(p * page) = value_;
        held_.emplace(file);
        epochs_->end_epoch();
        ASSERT_TRUE(epochs_->journal()->copies()->is_over_budget());
    }
    static opening_options little_memory() {
        return test::on_disk(4 * megabyte, megabyte, way::copies);
    }
    std::optional<test::held_base> held_;
    char value_ = 'a';
};

TEST_F(slow_base, the_clock_ends_no_epoch_before_the_base_has_the_last_one) {
    open_on_disk(little_memory(), milliseconds(1));
    ASSERT_NO_FATAL_FAILURE(fall_behind());
    const u64 e = write(0, 'b');
    epochs_->start_clock();
    EXPECT_TRUE(comes_true([this] { return epochs_->journal_numbers().late_ns > 3'000'000; }));
    EXPECT_EQ(now(), e);
    held_.reset();
    EXPECT_TRUE(comes_true([&] { return now() > e; }));
}

TEST_F(slow_base, who_ends_epochs_by_hand_can_wait_for_it) {
    open_on_disk(little_memory());
    epochs_->wait_for_base();  // there is nothing to wait for
    ASSERT_NO_FATAL_FAILURE(fall_behind());
    {
        const waiting other([this] { epochs_->wait_for_base(); });
        EXPECT_TRUE(other.still());
        held_.reset();
        EXPECT_TRUE(other.ends());
    }
    ASSERT_NO_FATAL_FAILURE(fall_behind());
    const test::full_disk full;
    epochs_->end_epoch();
    ASSERT_TRUE(comes_true([this] { return !epochs_->accepts_writes(); }));
    epochs_->wait_for_base();  // returns: it may be long
    held_.reset();
}

}  // namespace
}  // namespace hf
