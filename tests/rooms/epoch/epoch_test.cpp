// Epochs without any undo: boundary, tickets, lanes, and the cut on an ordinary disk.
#include "epochs.hpp"

#include <thread>
#include <vector>

namespace hf {
namespace {

using test::must;

class epoch_test : public test::epochs_on_tmpfs {};

TEST_F(epoch_test, epochs_count_up_durably_and_survive_a_clean_close) {
    open();
    const u64 first = epochs_->current_epoch();
    epochs_->end_epoch();
    epochs_->end_epoch();
    EXPECT_EQ(epochs_->current_epoch(), first + 2);
    EXPECT_EQ(epochs_->durable_epoch(), first + 1);
    must(epochs_->close());
    open();
    EXPECT_FALSE(epochs_->interrupted_epoch());
    EXPECT_EQ(epochs_->current_epoch(), first + 3);
}

TEST_F(epoch_test, a_crash_interrupts_one_epoch_and_its_number_is_not_used_again) {
    open();
    for (int i = 0; i < 5; ++i) {
        epochs_->end_epoch();
        const u64 running = epochs_->current_epoch();
        open();
        EXPECT_EQ(epochs_->interrupted_epoch(), running);
        EXPECT_EQ(epochs_->current_epoch(), running + 1);
        EXPECT_EQ(epochs_->durable_epoch(), running);
    }
}

TEST_F(epoch_test, what_a_discipline_adds_is_in_the_superblock_when_the_session_begins) {
    open();
    crash();
    opened_ = must(open_region(file, test::small_options()));
    const u64 generation = opened_.file->super().generation;
    epochs_ = must(epoch_manager::open(opened_, {.epoch = no_clock}));
    must(epochs_->start(
        [](layout::superblock& s) { layout::write_area(s.discipline_area, u64{77}); }));
    EXPECT_EQ(layout::read_area<u64>(opened_.file->super().discipline_area), 77U);
    EXPECT_EQ(opened_.file->super().generation, generation + 1);
}

TEST_F(epoch_test, on_a_disk_a_cut_is_there_whole_without_any_undo) {
    open(no_clock, medium_kind::file);
    const u64 first = write(0, 'a');
    write(5000, 'a');
    must(epochs_->wait_durable(first));
    write(0, 'b');  // never in a cut
    open(no_clock, medium_kind::file);
    EXPECT_FALSE(epochs_->interrupted_epoch()) << "nothing of an epoch outlives a crash there";
    EXPECT_EQ(*bytes(0), 'a');
    EXPECT_EQ(*bytes(5000), 'a');
    EXPECT_GT(epochs_->current_epoch(), first + 1) << "a number that a ticket may bear";
    EXPECT_GT(epochs_->journal_numbers().records, 0U);
    write(0, 'c');
    must(epochs_->close());
    open();  // closed in order it is whole without its journal, on any medium
    EXPECT_EQ(*bytes(0), 'c');
    EXPECT_EQ(epochs_->journal_numbers().records, 0U);
}

TEST_F(epoch_test, a_region_that_keeps_its_address_is_mapped_there_whatever_the_medium) {
    region_options o;
    o.initial_size = u64{1} << 20;
    o.keep_address = true;
    o.window = 2;
    for (const medium_kind medium : {medium_kind::shm, medium_kind::file}) {
        o.medium = medium;
        std::filesystem::remove(file);
        opened_ = must(open_region(file, o));
        const std::byte* const base = opened_.file->base();
        EXPECT_EQ(reinterpret_cast<u64>(base), detail::arena_begin + 2 * window_size);
        epochs_ = must(epoch_manager::open(opened_, {.epoch = no_clock}));
        must(epochs_->start());
        write(0, 'a');
        epochs_->end_epoch();
        for (int i = 0; i < 2; ++i) {  // after a crash, then after an orderly close
            open(no_clock, medium);
            EXPECT_EQ(opened_.file->base(), base);
            must(epochs_->close());
            crash();
        }
    }
}

TEST_F(epoch_test, a_region_of_which_nothing_survives_has_epochs_for_its_grace_periods) {
    region_options o;
    o.initial_size = u64{1} << 20;
    o.flush = flush_policy::always;
    opened_ = must(open_region(file, o));
    epochs_ = must(epoch_manager::open(opened_, {.epoch = no_clock, .durable = false}));
    must(epochs_->start());
    const auto before = total_persist_counters();
    const u64 e = write(0, 'a');
    must(epochs_->wait_durable(e));
    EXPECT_EQ(epochs_->current_epoch(), e + 1);
    must(epochs_->close());
    EXPECT_EQ(total_persist_counters().flushes, before.flushes);
}

TEST_F(epoch_test, who_waits_for_an_epoch_that_has_not_begun_is_told_so) {
    for (const medium_kind medium : {medium_kind::shm, medium_kind::file}) {
        open(no_clock, medium);
        const u64 e = write(0, 'a');
        EXPECT_EQ(epochs_->wait_durable(e + 1).error().code, errc::usage) << "no write was of it";
        EXPECT_EQ(epochs_->current_epoch(), e) << "nothing was ended for it";
        must(epochs_->wait_durable(e));
        must(epochs_->close());
    }
}

TEST_F(epoch_test, a_boundary_writes_back_exactly_the_noted_lines) {
    open();
    (void)epochs_->my_lane();
    const auto before = total_persist_counters();
    {
        const epoch_guard op(*epochs_);
        op.my_lane().mark_written();
        op.my_lane().note_sticky(bytes(), 3 * line_size);
        op.my_lane().note_once(bytes(4096), 1);
    }
    epochs_->end_epoch();
    const auto after = total_persist_counters();
    EXPECT_EQ(after.flushes - before.flushes, 3U + 1U + 1U);  // and the epoch record
}

TEST_F(epoch_test, no_operation_straddles_a_boundary) {
    open(std::chrono::milliseconds(1));
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            while (!stop) {
                const epoch_guard op(*epochs_);
                op.my_lane().mark_written();
                const u64 epoch = op.epoch();
                for (int i = 0; i < 50; ++i) cpu_relax();
                ASSERT_EQ(epochs_->current_epoch(), epoch);
                ASSERT_LT(epochs_->durable_epoch(), epoch);
            }
        });
    }
    const u64 start = epochs_->current_epoch();
    while (epochs_->current_epoch() < start + 30) std::this_thread::yield();
    stop = true;
    for (auto& t : threads) t.join();
}

TEST_F(epoch_test, waiting_for_a_ticket_ends_its_epoch) {
    open(std::chrono::seconds(10));
    u64 ticket = 0;
    {
        const epoch_guard op(*epochs_);
        op.my_lane().mark_written();
        ticket = op.epoch();
    }
    EXPECT_LT(epochs_->durable_epoch(), ticket);
    must(epochs_->wait_durable(ticket));
    EXPECT_GE(epochs_->durable_epoch(), ticket);
}

TEST_F(epoch_test, lanes_are_taken_over_by_later_threads) {
    open();
    for (int i = 0; i < 1000; ++i) {
        std::thread([&] { const epoch_guard op(*epochs_); }).join();
    }
    EXPECT_LE(epochs_->lanes_used(), 4U);
}

TEST_F(epoch_test, refuses_epochs_outside_of_1_ms_to_10_s) {
    region_options o;
    o.initial_size = u64{1} << 20;
    opened_ = must(open_region(file, o));
    using std::chrono::microseconds;
    for (const auto epoch : {microseconds(1), microseconds(999), microseconds(10'000'001),
                             microseconds(-1), microseconds(-5)}) {
        const auto refused = epoch_manager::open(opened_, {.epoch = epoch});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::usage);
    }
    for (const auto epoch : {no_clock, microseconds(1000), microseconds(10'000'000)}) {
        EXPECT_TRUE(epoch_manager::open(opened_, {.epoch = epoch})) << epoch.count();
    }
}

}  // namespace
}  // namespace hf
