// Epochs whose gate is closed with a time-out: sections hold no other thread up for long.
#include "base/clock.hpp"
#include "epochs.hpp"

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace hf {
namespace {

using namespace std::chrono_literals;
using outcome = close_attempt::outcome;
using test::must;

class patient_epochs : public test::epochs_on_tmpfs {
   protected:
    void open_patient(std::chrono::microseconds epoch = no_clock,
                      medium_kind medium = medium_kind::shm, std::chrono::nanoseconds tries = 10s) {
        open({.epoch = epoch, .patience = {.first = 200us, .limit = 5ms, .tries = tries}}, medium);
    }
    lane& mine() { return epochs_->my_lane(); }
    /// In a section of its own.
    void change(u64 at, char what) {
        epochs_->enter_section(mine(), 1);
        *bytes(at) = what;
        mine().note_once(bytes(at), 1);
        mine().mark_written();
        epoch_manager::leave_section(mine());
    }
    outcome attempt() {
        for (;;) {
            const outcome how = epochs_->try_end_epoch().how;
            if (how != outcome::owed) return how;
            std::this_thread::yield();
        }
    }
};

TEST_F(patient_epochs, only_the_outermost_section_passes_the_gate) {
    open_patient();
    epochs_->enter_section(mine(), 5);
    epochs_->enter_section(mine(), 6);
    EXPECT_TRUE(epochs_->try_enter_section(mine(), 7));
    EXPECT_EQ(mine().depth, 3U);
    EXPECT_EQ(mine().where, 5U) << "the message names the outermost";
    epoch_manager::leave_section(mine());
    epoch_manager::leave_section(mine());
    EXPECT_TRUE(mine().presence.is_up());
    epoch_manager::leave_section(mine());
    EXPECT_FALSE(mine().presence.is_up());
}

TEST_F(patient_epochs, a_section_in_flight_is_never_cut_and_is_named) {
    open_patient();
    const u64 epoch = epochs_->current_epoch();
    epochs_->enter_section(mine(), 0xabc);
    std::thread([&] {
        const close_attempt failed = epochs_->try_end_epoch();
        EXPECT_EQ(failed.how, outcome::in_the_way);
        EXPECT_EQ(failed.where, 0xabcU);
        EXPECT_EQ(failed.lane, 1U);
        change(1, 'x');  // others pass after the failed attempt
        EXPECT_EQ(epochs_->try_end_epoch().how, outcome::owed) << "not before its pause is over";
    }).join();
    EXPECT_EQ(epochs_->current_epoch(), epoch);
    EXPECT_EQ(epochs_->gate_numbers().failures, 1U);
    EXPECT_EQ(epochs_->gate_numbers().last.where, 0xabcU);
    EXPECT_GE(epochs_->pauses().max_ns, 200'000U) << "the failed attempt is in the pauses";
    epoch_manager::leave_section(mine());
    epochs_->end_epoch();
    EXPECT_EQ(epochs_->current_epoch(), epoch + 1);
}

// Without a time-out both threads and the clock would wait for each other for good.
TEST_F(patient_epochs, a_section_that_waits_for_a_thread_outside_ends_and_is_cut_afterwards) {
    open_patient(1ms);
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> is_in{false};
        std::atomic<bool> may_end{false};
        std::thread waits([&] {
            epochs_->enter_section(mine(), 2);
            mine().mark_written();
            is_in = true;
            while (!may_end) std::this_thread::yield();
            epoch_manager::leave_section(mine());
        });
        while (!is_in) std::this_thread::yield();
        const u64 attempts = epochs_->gate_numbers().attempts;
        while (round < 3 && epochs_->gate_numbers().attempts == attempts) std::this_thread::yield();
        change(3, 'y');
        may_end = true;
        waits.join();
        must(epochs_->wait_durable(epochs_->current_epoch()));
    }
    EXPECT_GT(epochs_->gate_numbers().failures, 0U);
}

TEST_F(patient_epochs, waiting_for_a_ticket_asks_the_clock_and_leads_nothing) {
    open_patient(10s);
    const u64 start = now_ns();
    for (int i = 0; i < 20; ++i) {
        change(4, 'z');
        must(epochs_->wait_durable(epochs_->current_epoch()));
    }
    EXPECT_LT(now_ns() - start, 9'000'000'000U) << "it waited for the clock's period";
}

TEST_F(patient_epochs, without_a_clock_waiting_for_a_ticket_ends_its_epoch) {
    open_patient();
    change(4, 'z');
    const u64 epoch = epochs_->current_epoch();
    must(epochs_->wait_durable(epoch));
    EXPECT_EQ(epochs_->durable_epoch(), epoch);
}

TEST_F(patient_epochs, closing_gives_up_while_a_section_is_in_flight_and_succeeds_afterwards) {
    for (const medium_kind medium : {medium_kind::shm, medium_kind::file}) {
        open_patient(no_clock, medium, 5ms);
        change(0, 'c');
        epochs_->enter_section(mine(), 0xbeef);
        std::thread([&] {
            const auto refused = epochs_->close();
            ASSERT_FALSE(refused);
            EXPECT_EQ(refused.error().code, errc::busy);
            EXPECT_NE(refused.error().why.find("0xbeef"), std::string::npos)
                << refused.error().to_string();
        }).join();
        epoch_manager::leave_section(mine());
        must(epochs_->close());
        open_patient();
        EXPECT_FALSE(epochs_->interrupted_epoch());
        EXPECT_EQ(*bytes(0), 'c');
    }
}

TEST_F(patient_epochs, the_superblock_stays_as_it_is_while_a_section_is_in_flight) {
    open_patient(no_clock, medium_kind::file, 5ms);
    epochs_->enter_section(mine(), 0xbeef);
    const auto tell = [](layout::superblock& s) { layout::write_area(s.discipline_area, u64{77}); };
    std::thread([&] { EXPECT_EQ(epochs_->update_super(tell).error().code, errc::busy); }).join();
    EXPECT_NE(layout::read_area<u64>(opened_.file->super().discipline_area), 77U);
    epoch_manager::leave_section(mine());
    must(epochs_->update_super(tell));
    EXPECT_EQ(layout::read_area<u64>(opened_.file->super().discipline_area), 77U);
}

TEST_F(patient_epochs, the_world_is_stopped_once_the_sections_have_ended) {
    open_patient();
    epochs_->enter_section(mine(), 1);
    std::atomic<bool> ran{false};
    auto stopper = std::async(std::launch::async, [&] {
        epochs_->with_world_stopped([&](lane& l) {
            EXPECT_EQ(l.index, 0U);
            ran = true;
        });
    });
    while (epochs_->gate_numbers().failures == 0) std::this_thread::yield();
    EXPECT_FALSE(ran);
    epoch_manager::leave_section(mine());
    stopper.get();
    EXPECT_TRUE(ran);
}

TEST_F(patient_epochs, cuts_under_load_hold_whole_sections) {
    open_patient(1ms, medium_kind::file);
    std::atomic<bool> stop{false};
    std::vector<std::thread> threads;
    for (u64 t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (char n = 0; !stop; ++n) {
                epochs_->enter_section(mine(), t);
                for (const u64 at : {t, 8192 + t}) {
                    *bytes(at) = n;
                    mine().note_once(bytes(at), 1);
                }
                mine().mark_written();
                epoch_manager::leave_section(mine());
            }
        });
    }
    const u64 from = epochs_->durable_epoch();
    while (epochs_->durable_epoch() < from + 20) std::this_thread::sleep_for(1ms);
    stop = true;
    for (auto& t : threads) t.join();
    open();
    for (u64 t = 0; t < 3; ++t) EXPECT_EQ(*bytes(t), *bytes(8192 + t));
}

TEST_F(patient_epochs, a_region_of_which_nothing_survives_closes_as_well) {
    region_options o;
    o.initial_size = u64{1} << 20;
    opened_ = must(open_region(file, o));
    epochs_ = must(epoch_manager::open(
        opened_, {.epoch = no_clock, .durable = false, .patience = {.first = 100us}}));
    must(epochs_->start());
    const u64 epoch = epochs_->current_epoch();
    must(epochs_->close());
    EXPECT_EQ(epochs_->current_epoch(), epoch + 1);
}

}  // namespace
}  // namespace hf
