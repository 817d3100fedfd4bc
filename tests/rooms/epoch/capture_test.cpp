// Decisions at the end of an epoch on an ordinary disk: when there is work, when an epoch should
// end early, when writers and boundaries wait.
#include "base/clock.hpp"
#include "captures.hpp"
#include "epoch/options.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace hf {
namespace {

using test::comes_true;
using test::must;
using test::waiting;
using way = page_tracker::way;

constexpr std::chrono::microseconds young = shortest_epoch - std::chrono::microseconds(1);
constexpr u64 budget = 512 * small_page;  // of which three quarters are comfortable
constexpr u64 comfortable = budget / 4 * 3;
constexpr u64 far_over = budget + budget / 8;
constexpr u64 large = u64{4} << 20;

class capture_test : public test::captures_on_tmpfs {
   protected:
    /// A region that has outgrown its memory, at a boundary that is in the base.
    void open_small_memory(test::tracked_by track = {}) {
        open(budget, track, large);
        start();
        boundary();
        ASSERT_TRUE(copies().is_tracking());
        must(end->settle());
    }
};

TEST_F(capture_test, before_its_journal_was_started_nothing_waits_for_it) {
    open();
    EXPECT_FALSE(end->captures());
    EXPECT_TRUE(end->is_ready());
    EXPECT_TRUE(end->wait_ready());
    EXPECT_FALSE(end->is_refusing());
    EXPECT_TRUE(end->accepts_writes());
    end->let_gather([] { return false; }, std::chrono::seconds(1));
    const journal_statistics none = end->numbers();
    EXPECT_EQ(none.records + none.bytes + none.syncs + none.private_bytes, 0U);
    dirty().set_limit(1);
    note(100);
    ASSERT_TRUE(end->writers_are_ahead());
    end->hold_writer(~u64{0});  // returns: no thread would ever end the epoch
    end.reset();
}

TEST_F(capture_test, an_epoch_may_be_as_large_as_the_journal_has_become) {
    open();
    start();
    must(opened.file->grow(segment_kind::heap, 32, 0));
    const auto expect_limit = [this](u64 lines) {
        note(lines - dirty().size());
        EXPECT_EQ(dirty().size(), lines);
        EXPECT_FALSE(dirty().pressure());
        note(lines + 1);
        EXPECT_TRUE(dirty().pressure());
    };
    const u64 at_first = redo().comfortable_lines();
    expect_limit(at_first);
    note(opened.file->size() / line_size / 2);
    boundary();
    must(end->settle());
    ASSERT_GT(redo().comfortable_lines(), at_first) << "the record made the journal no longer";
    boundary();
    expect_limit(redo().comfortable_lines());
}

TEST_F(capture_test, there_is_work_when_lines_are_dirty_or_memory_is_short) {
    ASSERT_NO_FATAL_FAILURE(open_small_memory());
    own(comfortable);
    EXPECT_FALSE(end->has_work());
    note(1);
    EXPECT_TRUE(end->has_work());
    boundary();
    must(end->settle());
    EXPECT_FALSE(end->has_work());
    own(comfortable + page);
    EXPECT_TRUE(end->has_work()) << "memory is given back at boundaries only";
}

TEST_F(capture_test, many_dirty_lines_end_an_epoch_of_any_age_early) {
    open();
    start();
    dirty().set_limit(10);
    note(10);
    EXPECT_FALSE(end->wants_early_end(longest_epoch));
    EXPECT_FALSE(end->writers_are_ahead());
    note(11);
    EXPECT_TRUE(end->wants_early_end(std::chrono::microseconds(0)));
    EXPECT_FALSE(end->writers_are_ahead()) << "it ends early, and goes on meanwhile";
    boundary();
    EXPECT_FALSE(end->wants_early_end(longest_epoch));
    EXPECT_FALSE(end->has_work());
}

TEST_F(capture_test, beyond_the_budget_an_epoch_ends_early_but_not_at_once) {
    ASSERT_NO_FATAL_FAILURE(open_small_memory());
    own(budget);
    EXPECT_FALSE(end->wants_early_end(longest_epoch));
    EXPECT_FALSE(end->writers_are_ahead());
    own(budget + page);
    EXPECT_FALSE(end->wants_early_end(young));
    EXPECT_TRUE(end->wants_early_end(shortest_epoch));
    EXPECT_TRUE(end->writers_are_ahead());
    own(far_over);
    end->hold_writer(~u64{0});  // a moment: only far beyond it must a writer stop
}

class tracked_captures : public capture_test, public ::testing::WithParamInterface<way> {
   protected:
    void SetUp() override {
        if (GetParam() == way::written && !written_pages::start()) {
            GTEST_SKIP() << "this kernel cannot tell what was written";
        }
    }
};

TEST_P(tracked_captures, lines_that_nobody_named_are_captured_with_those_that_were) {
    open(0, GetParam());
    start();
    store(0, 1);
    store(5 * page + 100, 2);
    store(9 * page, 3);
    dirty().note(at(9 * page), 1);
    boundary();
    must(end->settle());
    EXPECT_GE(tracker().lines_found(), 3U);
    end.reset();
    opened = {};
    opened = must(open_region(file, test::on_disk(megabyte)));
    EXPECT_EQ(*at(0), std::byte{1});
    EXPECT_EQ(*at(5 * page + 100), std::byte{2});
    EXPECT_EQ(*at(9 * page), std::byte{3});
}

// The base is held still: all that is captured stays to be applied.
TEST_P(tracked_captures, a_boundary_waits_for_the_base_where_it_would_repeat_itself) {
    open(0, GetParam());
    start();
    boundary();
    must(end->settle());
    const test::held_base still(file);
    tracker().set_limit(2);
    for (u64 p = 0; p < 3; ++p) store(p * page, 1);
    boundary();
    tracker().set_limit(2);
    EXPECT_FALSE(end->must_settle_first(next)) << "nothing was found twice";
    for (u64 p = 0; p < 2; ++p) store(p * page, 2);
    boundary();
    tracker().set_limit(2);
    if (GetParam() == way::written) {
        EXPECT_FALSE(tracker().repeats_itself());
        for (u64 p = 0; p < 3; ++p) store(p * page, 3);
        boundary();
        tracker().set_limit(2);
    }
    ASSERT_TRUE(tracker().repeats_itself());
    tracker().set_limit(3);
    EXPECT_FALSE(tracker().repeats_itself() || end->must_settle_first(next)) << "so much is borne";
    tracker().set_limit(2);
    EXPECT_EQ(end->must_settle_first(next), GetParam() != way::written);
    EXPECT_FALSE(end->must_settle_first(applied() + 1)) << "the base has all that has ended";
    EXPECT_EQ(end->must_settle_first(applied() + 2), GetParam() != way::written);
}

TEST_P(tracked_captures, a_boundary_waits_for_the_base_when_memory_is_short_and_asks_for_it) {
    ASSERT_NO_FATAL_FAILURE(open_small_memory(GetParam()));
    tracker().set_limit(~u64{0});
    {
        const test::held_base still(file);
        store(0, 9);
        boundary();
        own(budget);
        EXPECT_FALSE(end->must_settle_first(next)) << "there is room";
        own(budget + page);
        EXPECT_EQ(end->must_settle_first(next), GetParam() != way::written);
        EXPECT_FALSE(end->must_settle_first(applied() + 1));
    }
    EXPECT_TRUE(comes_true([this] { return !end->must_settle_first(next); }));
}

INSTANTIATE_TEST_SUITE_P(ways, tracked_captures,
                         ::testing::Values(way::written, way::copies, way::all),
                         [](const auto& w) { return std::string(to_string(w.param)); });

TEST_F(capture_test, where_nobody_tracks_pages_no_boundary_waits_for_the_base) {
    ASSERT_NO_FATAL_FAILURE(open_small_memory());
    const test::held_base still(file);
    note(1);
    boundary();
    own(far_over);
    EXPECT_FALSE(end->must_settle_first(next));
    end->look();
    EXPECT_FALSE(end->wants_early_end(young));
}

TEST_F(capture_test, asked_to_settle_first_the_base_gets_what_there_is) {
    open(0, way::all);
    start();
    for (int i = 0; i < 2; ++i) {
        store(0, i + 1);
        boundary();
    }
    tracker().set_limit(0);
    ASSERT_LT(applied() + 1, next) << "nobody has asked for it yet";
    // Again and again: an epoch that is not durable yet cannot be applied.
    EXPECT_TRUE(comes_true([this] { return !end->must_settle_first(next); }));
    EXPECT_EQ(applied() + 1, next);
}

class written_captures : public capture_test {
   protected:
    void SetUp() override {
        if (!written_pages::start()) GTEST_SKIP() << "this kernel cannot tell what was written";
        open(0, way::written);
        start();
        boundary();
        tracker().set_limit(2);
    }
    void write(u64 pages, int value) const {
        for (u64 p = 0; p < pages; ++p) store(p * page, value);
    }
    /// Once the pause after the last check is over: that is twenty times as long as the look took,
    /// but 5 ms at least.
    void look() {
        std::this_thread::sleep_for(pause_);
        const u64 start = now_ns();
        end->look();
        pause_ = std::max<std::chrono::nanoseconds>(
            std::chrono::milliseconds(5), 20 * std::chrono::nanoseconds(now_ns() - start));
    }

   private:
    std::chrono::nanoseconds pause_{0};
};

TEST_F(written_captures, an_epoch_of_many_pages_ends_early_once_somebody_looked) {
    write(2, 1);
    look();
    EXPECT_FALSE(end->wants_early_end(longest_epoch));
    write(3, 1);
    EXPECT_FALSE(end->wants_early_end(longest_epoch)) << "nobody has looked";
    look();
    EXPECT_TRUE(end->wants_early_end(std::chrono::microseconds(0)));
    EXPECT_FALSE(end->writers_are_ahead());
    write(11, 1);
    look();
    EXPECT_FALSE(end->writers_are_ahead());
    write(12, 1);
    look();
    EXPECT_TRUE(end->writers_are_ahead()) << "four times as many";
    boundary();
    EXPECT_FALSE(end->wants_early_end(longest_epoch));
    EXPECT_FALSE(end->writers_are_ahead());
}

TEST_F(written_captures, there_is_a_pause_between_two_looks) {
    for (int value = 1; value < 100; ++value) {
        tracker().set_limit(2);  // each boundary sets another
        write(3, value);
        u64 looked = 0;
        ASSERT_TRUE(comes_true([&] {
            looked = now_ns();
            end->look();
            return end->wants_early_end(longest_epoch);
        }));
        boundary();
        tracker().set_limit(2);
        write(3, value + 100);
        end->look();
        const bool at_once = now_ns() - looked < 5'000'000;
        const bool noticed = end->wants_early_end(longest_epoch);
        boundary();
        if (!at_once) continue;  // this machine is busy: once more
        EXPECT_FALSE(noticed);
        return;
    }
}

// ---------------------------------------------------------------------------------- those who wait

TEST_F(capture_test, two_epochs_may_be_on_their_way_and_who_ends_a_third_waits) {
    open();
    start();
    hold_up();
    boundary();
    EXPECT_TRUE(end->is_ready());
    EXPECT_TRUE(end->wait_ready());
    const waiting gathering(
        [this] { end->let_gather([] { return false; }, std::chrono::seconds(1)); });
    end->let_gather([] { return true; }, std::chrono::seconds(1));
    EXPECT_TRUE(gathering.still()) << "something is on its way to the disk";
    boundary();
    EXPECT_FALSE(end->is_ready());
    const waiting ready([this] { EXPECT_TRUE(end->wait_ready()); });
    EXPECT_TRUE(ready.still());
    let_go();
    EXPECT_TRUE(ready.ends());
    EXPECT_TRUE(gathering.ends());
    EXPECT_TRUE(comes_true([this] { return was_told(6); }));
}

TEST_F(capture_test, writers_are_held_while_the_epoch_is_far_too_large) {
    open();
    start();
    dirty().set_limit(2);
    note(11);
    EXPECT_FALSE(end->writers_are_ahead());
    note(12);
    EXPECT_TRUE(end->writers_are_ahead());
    const waiting writer([this] { end->hold_writer(~u64{0}); });
    EXPECT_TRUE(writer.still());
    end->hold_writer(now_ns() + 1'000'000);  // returns: the deadline has passed
    EXPECT_TRUE(end->writers_are_ahead());
    boundary();
    EXPECT_TRUE(writer.ends());
}

TEST_F(capture_test, writers_are_held_while_memory_is_far_too_short) {
    ASSERT_NO_FATAL_FAILURE(open_small_memory());
    own(far_over + page);
    const waiting writer([this] { end->hold_writer(~u64{0}); });
    EXPECT_TRUE(writer.still());
    while (copies().is_over_budget()) {
        boundary();
        must(end->settle());
    }
    EXPECT_TRUE(writer.ends());
    EXPECT_GT(end->numbers().given_back_bytes, 0U);
}

TEST_F(capture_test, a_full_disk_refuses_and_holds_nobody_up) {
    open();
    start();
    EXPECT_TRUE(end->accepts_writes());
    {
        const test::full_disk full;
        note(20);
        boundary();
        ASSERT_TRUE(comes_true([this] { return end->is_refusing(); }));
        EXPECT_TRUE(comes_true([this] { return was_told(std::nullopt); }));
        const auto refused = end->accepts_writes();
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::no_space);
        EXPECT_FALSE(end->numbers().refusal.empty());
        end->let_gather([] { return false; }, std::chrono::seconds(1));
        EXPECT_TRUE(end->wait_ready()) << "one more can be captured";
        boundary();
        EXPECT_FALSE(end->wait_ready());
        EXPECT_FALSE(end->is_ready());
        note(20);
        dirty().set_limit(2);
        ASSERT_TRUE(end->writers_are_ahead());
        end->hold_writer(~u64{0});  // for a moment of unknown length
    }
    EXPECT_TRUE(comes_true([this] { return was_told(6) && !end->is_refusing(); }));
    EXPECT_TRUE(end->accepts_writes());
    EXPECT_TRUE(end->numbers().refusal.empty());
}

// Two calls, one after the other: whether it refuses, and why.
TEST_F(capture_test, who_asks_while_a_full_disk_has_room_again_is_told_one_or_the_other) {
    open();
    start();
    std::vector<std::thread> askers;
    std::atomic<bool> stop{false};
    for (int t = 0; t < 3; ++t) {
        askers.emplace_back([&] {
            while (!stop.load(std::memory_order_relaxed)) {
                const auto answer = end->accepts_writes();
                EXPECT_TRUE(answer || answer.error().code == errc::no_space);
            }
        });
    }
    for (int i = 0; i < 3; ++i) {
        {
            const test::full_disk full;
            boundary();
            EXPECT_TRUE(comes_true([this] { return end->is_refusing(); }));
        }
        EXPECT_TRUE(comes_true([this] { return !end->is_refusing(); }));
    }
    stop = true;
    for (auto& t : askers) t.join();
}

}  // namespace
}  // namespace hf
