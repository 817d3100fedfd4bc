// A session from open() to close(), and the clock in between.
#include "base/clock.hpp"
#include "base/damage.hpp"
#include "epoch/capture.hpp"
#include "epoch/epoch_area.hpp"
#include "epochs.hpp"
#include "held_up.hpp"
#include "region/copy_pause.hpp"
#include "support/effort.hpp"

#include <sys/prctl.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace hf {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::comes_true;
using test::must;
using test::waiting;

class session : public test::epochs_on_tmpfs {
   protected:
    [[nodiscard]] epoch_area area() const { return epoch_area_of(opened_.file->super()); }
    /// Opens the file, which is there, with these options; starts no clock.
    void reopen(const epoch_options& o) {
        crash();
        opened_ = must(open_region(file, test::small_options()));
        epochs_ = must(epoch_manager::open(opened_, o));
        must(epochs_->start());
    }
    /// Whether the running epoch goes on for a while.
    [[nodiscard]] bool stays() const {
        const u64 running = epochs_->current_epoch();
        std::this_thread::sleep_for(milliseconds(15));
        return epochs_->current_epoch() == running;
    }
};

// Each with a checksum that is right.
TEST_F(session, refuses_epochs_that_no_program_can_have_reached) {
    open();
    must(epochs_->close());
    crash();
    const auto refused = [&](const std::function<void(epoch_area&)>& change) {
        const auto whole = test::read_file(file);
        test::change_superblocks(file,
                                 [&](layout::superblock& s) { change_epoch_area(s, change); });
        auto again = must(open_region(file, test::small_options()));
        const auto made = epoch_manager::open(again, {});
        ASSERT_FALSE(made);
        EXPECT_EQ(made.error().code, errc::corrupt);
        EXPECT_NE(made.error().to_string().find("later than any"), std::string::npos);
        again = {};
        test::write_file(file, whole);
    };
    for (const u64 epoch : {max_epoch + 1, ~u64{0} - 1, ~u64{0}}) {
        refused([&](epoch_area& a) { a.first_epoch_of_session = epoch; });
        refused([&](epoch_area& a) { a.clean_epoch = epoch; });
    }
    open();
    EXPECT_LT(epochs_->current_epoch(), 100U);
}

TEST_F(session, says_in_the_superblock_where_its_epochs_began_and_ended) {
    open();
    const u64 first = epochs_->current_epoch();
    EXPECT_EQ(area().first_epoch_of_session, first);
    epochs_->end_epoch();
    epochs_->end_epoch();
    must(epochs_->close());
    EXPECT_TRUE(opened_.file->super().clean);
    EXPECT_EQ(area().first_epoch_of_session, first + 3);
    EXPECT_EQ(area().clean_epoch, first + 2);
    open();
    EXPECT_FALSE(opened_.file->super().clean);
    EXPECT_EQ(area().first_epoch_of_session, epochs_->current_epoch());
}

TEST_F(session, on_a_disk_all_numbers_that_a_crash_may_have_taken_are_used_up) {
    for (const u64 ended : {0, 1, 4}) {
        open(no_clock, medium_kind::file);
        for (u64 i = 0; i < ended; ++i) must(epochs_->wait_durable(write(0, 'a')));
        const u64 durable = epochs_->durable_epoch();
        const u64 running = epochs_->current_epoch();
        EXPECT_EQ(running, durable + 1);
        open(no_clock, medium_kind::file);
        // The first boundary of a session is at once.
        EXPECT_EQ(epochs_->current_epoch(), running + capture::most_under_way() + 1 + 1);
        EXPECT_EQ(epochs_->durable_epoch() + 1, epochs_->current_epoch());
    }
}

TEST_F(session, of_which_nothing_is_to_survive_leaves_no_trace) {
    open();
    must(epochs_->close());
    crash();
    const auto before = test::fingerprint_of(file);
    opened_ = must(open_region(file, test::small_options()));
    const layout::superblock super = opened_.file->super();
    epochs_ = must(epoch_manager::open(opened_, {.epoch = no_clock, .durable = false}));
    must(epochs_->start());
    EXPECT_EQ(epochs_->current_epoch(), 1U);
    epochs_->end_epoch();
    must(epochs_->close());
    EXPECT_EQ(epochs_->current_epoch(), 3U);
    EXPECT_EQ(opened_.file->super().generation, super.generation);
    crash();
    EXPECT_EQ(test::fingerprint_of(file).bytes, before.bytes);
}

TEST_F(session, of_who_only_looks_changes_nothing_and_has_no_clock) {
    open();
    write(0, 'a');
    epochs_->end_epoch();
    crash();
    const auto before = test::fingerprint_of(file);
    region_options look = test::small_options();
    look.mode = open_mode::inspect;
    opened_ = must(open_region(file, look));
    const layout::superblock super = opened_.file->super();
    epochs_ = must(epoch_manager::open(opened_, {.epoch = milliseconds(1)}));
    must(epochs_->start());
    epochs_->start_clock();
    epochs_->my_lane().mark_written();
    EXPECT_TRUE(stays());
    must(epochs_->close());
    EXPECT_EQ(std::memcmp(&opened_.file->super(), &super, sizeof super), 0) << "in memory, too";
    crash();
    EXPECT_EQ(test::fingerprint_of(file), before);
}

TEST_F(session, without_a_clock_no_epoch_ends_by_itself) {
    reopen({.epoch = no_clock});
    epochs_->start_clock();
    write(0, 'a');
    EXPECT_TRUE(stays());
}

// ---------------------------------------------------------------------------------- stopped worlds

TEST_F(session, nobody_is_inside_while_the_world_is_stopped) {
    open();
    constexpr int workers = 2;
    std::array<u64, workers> words{};  // plain: a race is one
    std::atomic<bool> stop{false};
    std::atomic<u64> rounds{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < workers; ++t) {
        threads.emplace_back([&, t] {
            while (!stop.load(std::memory_order_relaxed)) {
                const epoch_guard inside(*epochs_);
                ++words[t];
                rounds.fetch_add(1, std::memory_order_relaxed);
            }
        });
    }
    for (int i = 0; i < 50; ++i) {
        epochs_->with_world_stopped([&](lane& system) {
            EXPECT_EQ(system.index, 0U);
            EXPECT_EQ(system.epoch, epochs_->current_epoch());
            const u64 seen = rounds.load();
            const auto before = words;
            system.note_once(bytes(), 1);  // by the thread that has closed the gate: none is inside
            for (int wait = 0; wait < 500; ++wait) cpu_relax();
            EXPECT_EQ(rounds.load(), seen);
            EXPECT_EQ(words, before);
        });
        if (i % 4 == 0) epochs_->end_epoch();
    }
    stop = true;
    for (auto& t : threads) t.join();
}

TEST_F(session, the_gate_is_closed_until_the_work_is_done) {
    open();
    std::optional<waiting> other;
    epochs_->with_world_stopped([&](lane&) {
        other.emplace([this] { const epoch_guard inside(*epochs_); });
        EXPECT_TRUE(other->still());
    });
    EXPECT_TRUE(other->ends());
}

TEST_F(session, the_gate_opens_where_the_work_finds_damage) {
    open();
    EXPECT_THROW(epochs_->with_world_stopped([](lane&) { throw damage(0, "it is damaged"); }),
                 damage);
    const epoch_guard inside(*epochs_);
    EXPECT_EQ(inside.epoch(), epochs_->current_epoch());
}

TEST_F(session, keeps_still_for_a_copy_between_two_operations) {
    open();
    epoch_options o;
    o.epoch = milliseconds(2);
    reopen(o);
    epochs_->start_clock();
    const u64 epoch = epochs_->current_epoch();
    const auto copied = must(detail::open_unlocked(file));
    const detail::copy_pause copy(copied.get());
    must(copy.ask());
    ASSERT_TRUE(comes_true([&] { return copy.is_still(); }));
    EXPECT_GT(epochs_->current_epoch(), epoch) << "what was written is in the copy";
    waiting other([this] { const epoch_guard inside(*epochs_); });
    EXPECT_TRUE(other.still());
    copy.release();
    EXPECT_TRUE(other.ends());
}

TEST_F(session, whoever_comes_as_the_gate_opens_ends_no_epoch_that_nobody_wanted_to_end) {
    open();
    const u64 epoch = epochs_->current_epoch();
    u64 rounds = 0;  // plain: one at a time
    const u64 each = test::scaled(20'000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (u64 i = 0; i < each; ++i) {
                epochs_->with_world_stopped([&](lane&) {
                    ++rounds;
                    for (u64 w = 0; w < i % 64; ++w) cpu_relax();  // so that others do come
                });
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(rounds, 3 * each);
    EXPECT_EQ(epochs_->current_epoch(), epoch);
}

TEST_F(session, an_update_of_the_superblock_waits_for_those_inside_where_boundaries_copy_it) {
    for (const auto medium : {medium_kind::shm, medium_kind::file}) {
        open(no_clock, medium);
        std::atomic<bool> updated{false};
        const auto update = [&] {
            must(epochs_->update_super(
                [](layout::superblock& s) { layout::write_area(s.discipline_area, u64{78}); }));
            updated = true;
        };
        {
            std::optional<epoch_guard> inside(std::in_place, *epochs_);
            const waiting other(update);
            if (medium == medium_kind::shm) {
                EXPECT_TRUE(other.ends());
            } else {
                EXPECT_TRUE(other.still());
                EXPECT_FALSE(updated);
            }
            inside.reset();
            EXPECT_TRUE(other.ends());
        }
        EXPECT_EQ(layout::read_area<u64>(opened_.file->super().discipline_area), 78U);
    }
}

TEST_F(session, a_value_is_pinned_as_long_as_some_lane_says_so) {
    open();
    lane& mine = epochs_->my_lane();
    EXPECT_FALSE(epochs_->is_pinned(4096));
    mine.pinned = 4096;
    EXPECT_TRUE(epochs_->is_pinned(4096));
    EXPECT_FALSE(epochs_->is_pinned(4160));
    std::thread([&] { epochs_->my_lane().pinned = 8192; }).join();
    EXPECT_TRUE(epochs_->is_pinned(4096));
    EXPECT_TRUE(epochs_->is_pinned(8192)) << "of the last lane";
    mine.pinned = 0;
    EXPECT_FALSE(epochs_->is_pinned(4096));
}

TEST_F(session, two_who_end_one_epoch_end_it_once) {
    for (const auto medium : {medium_kind::shm, medium_kind::file}) {
        open(no_clock, medium);
        const u64 first = epochs_->current_epoch();
        std::atomic<u64> ended{0};
        std::vector<std::thread> threads;
        const unsigned each = test::scaled(300);
        for (u64 t = 0; t < 3; ++t) {
            threads.emplace_back([&, t] {
                for (unsigned i = 0; i < each; ++i) {
                    const u64 before = write(t, 'a');
                    epochs_->end_epoch();
                    EXPECT_GT(epochs_->current_epoch(), before);
                    ended.fetch_add(1);
                }
            });
        }
        for (auto& t : threads) t.join();
        EXPECT_LE(epochs_->current_epoch() - first, ended.load());
        must(epochs_->wait_durable(epochs_->current_epoch() - 1));
    }
}

// --------------------------------------------------------------------------------------- the clock

TEST_F(session, the_clock_ends_an_epoch_in_which_something_was_written_and_no_other) {
    open(milliseconds(1));
    EXPECT_TRUE(stays());
    for (int i = 0; i < 3; ++i) {
        const u64 e = epochs_->current_epoch();
        std::thread([&] {
            const epoch_guard inside(*epochs_);
            inside.my_lane().mark_written();
        }).join();
        EXPECT_TRUE(comes_true([&] { return epochs_->durable_epoch() >= e; }));
    }
    EXPECT_TRUE(comes_true([this] { return stays(); }));
    EXPECT_GE(epochs_->pauses().count, 3U);
}

TEST_F(session, an_epoch_does_not_end_before_its_time) {
    constexpr auto length = milliseconds(100);
    open(length);
    const u64 start = now_ns();  // before its time begins
    epochs_->end_epoch();
    const u64 e = write(0, 'a');
    ASSERT_TRUE(comes_true([&] { return epochs_->current_epoch() > e; }));
    EXPECT_GE(now_ns() - start, static_cast<u64>(length / std::chrono::nanoseconds(1)));
}

TEST_F(session, may_end_at_any_moment_while_its_clock_runs) {
    opened_ = must(open_region(file, test::small_options()));
    for (unsigned i = 0; i < test::scaled(60); ++i) {
        epochs_ = must(epoch_manager::open(opened_, {.epoch = milliseconds(1), .durable = false}));
        must(epochs_->start());
        epochs_->start_clock();
        std::atomic<bool> stop{false};
        std::thread writer([&] {
            while (!stop.load()) {
                epochs_->my_lane().mark_written();
                std::this_thread::sleep_for(microseconds(50));
            }
        });
        std::this_thread::sleep_for(microseconds(900 + 37 * i));
        stop = true;
        writer.join();
        epochs_.reset();
    }
}

TEST(epoch_clock_test, calls_again_after_the_nap_it_was_told_to_take) {
    epoch_clock clock;
    std::atomic<u64> calls{0};
    clock.start([&]() -> std::chrono::nanoseconds {
        std::array<char, 16> name{};
        ::prctl(PR_GET_NAME, name.data());
        EXPECT_STREQ(name.data(), "hf-clock");
        return ++calls < 5 ? milliseconds(0) : std::chrono::hours(1);
    });
    EXPECT_TRUE(comes_true([&] { return calls == 5U; }));
    std::this_thread::sleep_for(milliseconds(10));
    EXPECT_EQ(calls, 5U);
    clock.stop();  // wakes it
    clock.stop();
    EXPECT_EQ(calls, 5U);
}

}  // namespace
}  // namespace hf
