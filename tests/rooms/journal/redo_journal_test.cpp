// The threads of a journal, on a disk whose syncs wait until the test allows them.
#include "base/clock.hpp"
#include "gated_journal.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace hf::test {
namespace {

class redo_journal : public gated_journal {};

}  // namespace

TEST_F(redo_journal, is_idle_when_all_is_durable) {
    end_epoch(1);
    std::atomic<bool> idle{false};
    std::thread waits([&] {
        redo->wait_idle([] { return false; });
        idle = true;
    });
    wait_until([&] { return g->waiting == 1; });
    EXPECT_FALSE(idle);
    let_one_through();
    waits.join();
    open_the_gate();
}

TEST_F(redo_journal, tells_in_nanoseconds_how_long_a_record_took) {
    const u64 begin = now_ns();
    end_epoch(1);
    wait_until([&] { return g->waiting == 1; });
    constexpr std::chrono::milliseconds slow{30};
    std::this_thread::sleep_for(slow);
    let_one_through();
    wait_until([&] { return redo->last_commit_ns() != 0; });
    EXPECT_GE(std::chrono::nanoseconds(redo->last_commit_ns()), slow);
    EXPECT_LE(redo->last_commit_ns(), now_ns() - begin);
    open_the_gate();
}

// If a clock ends epochs as fast as the disk accepts them, there is always one in flight.
TEST_F(redo_journal, who_waits_for_it_to_be_idle_stops_when_there_is_no_need_any_more) {
    end_epoch(1);
    std::thread waits([&] { redo->wait_idle([&] { return redo->numbers().records() == 1; }); });
    wait_until([&] { return g->waiting == 1; });
    end_epoch(1);
    let_one_through();
    waits.join();
    EXPECT_EQ(redo->numbers().records(), 1U) << "the second is still on its way";
    open_the_gate();
}

TEST_F(redo_journal, tells_who_listens_that_it_refuses_and_when_it_goes_on) {
    std::atomic<u64> refused{0};
    std::atomic<u64> durable{0};
    redo->set_listener([&](std::optional<u64> e) {
        if (e) {
            durable = *e;
        } else {
            ++refused;
        }
    });
    open_the_gate();
    g->capacity = 0;
    end_epoch(lines);
    wait_until([&] { return refused != 0; });
    EXPECT_TRUE(redo->is_refusing());
    redo->wait_idle([] { return false; });  // does not wait for space
    EXPECT_EQ(durable, 0U);
    g->capacity = ~u64{0};
    wait_until([&] { return durable == epoch; });
    redo->set_listener({});
}

TEST_F(redo_journal, lets_who_waits_write_when_nothing_is_on_its_way) {
    open_the_gate();
    fill(1);
    ASSERT_TRUE(redo->submit_to_write());
    EXPECT_EQ(redo->numbers().records(), 0U) << "that is the caller's";
    redo->write();
    EXPECT_EQ(redo->numbers().records(), 1U);
    redo->wait_idle([] { return false; });
}

TEST_F(redo_journal, writes_by_itself_behind_a_record_that_is_on_its_way) {
    end_epoch(1);
    wait_until([&] { return g->waiting == 1; });
    fill(1);
    EXPECT_FALSE(redo->submit_to_write());
    open_the_gate();
    redo->wait_idle([] { return false; });
    EXPECT_EQ(redo->numbers().records(), 2U);
}

// The next epoch is submitted while the record is in flight: its writer wakes the journal's thread.
TEST_F(redo_journal, goes_on_behind_a_record_that_somebody_else_wrote) {
    fill(1);
    ASSERT_TRUE(redo->submit_to_write());
    std::thread writes([&] { redo->write(); });
    wait_until([&] { return g->waiting == 1; });
    end_epoch(1);
    EXPECT_EQ(g->waiting, 1U) << "one at a time";
    open_the_gate();
    writes.join();
    redo->wait_idle([] { return false; });
    EXPECT_EQ(redo->numbers().records(), 2U);
}

TEST_F(redo_journal, refuses_what_another_thread_found_no_room_for) {
    open_the_gate();
    g->capacity = 0;
    fill(lines);
    ASSERT_TRUE(redo->submit_to_write());
    redo->write();
    wait_until([&] { return redo->is_refusing(); });
    EXPECT_EQ(redo->numbers().records(), 0U);
    g->capacity = ~u64{0};
    // The refusal ends when the record is durable, before its epoch is announced; until then no
    // thread waits for the journal to be idle.
    wait_until([&] { return !redo->is_refusing(); });
    EXPECT_FALSE(redo->refusal());
    EXPECT_EQ(redo->numbers().records(), 1U);
    redo->wait_idle([] { return false; });
}

// A small region begins with a small journal: a quarter larger than itself, within bounds.
TEST_F(redo_journal, begins_no_larger_than_is_worth_while) {
    constexpr u64 at_first = 16;
    for (u64 pages = 1; pages <= 24; ++pages) {
        base_gate->disk.become(lab::bytes(pages * journal::page));
        g->disk.become({});
        g->shut = false;
        start({journal::page, at_first});
        const u64 wanted = std::clamp(pages + pages / 4, journal::least_segments, at_first);
        EXPECT_EQ(redo->numbers().segments(), wanted) << pages;
        EXPECT_EQ(g->disk.now().size(), journal::ring::file_bytes(journal::page, wanted)) << pages;
    }
}

TEST_F(redo_journal, begins_smaller_where_there_is_no_room) {
    constexpr u64 wanted = 16;
    base_gate->disk.become(lab::bytes(wanted * journal::page));
    for (const auto& [room, had] :
         {std::pair{wanted, wanted}, {wanted - 1, u64{8}}, {u64{7}, u64{4}}, {u64{3}, u64{3}}}) {
        g->disk.become({});
        g->capacity = journal::ring::file_bytes(journal::page, room);
        g->shut = false;
        start({journal::page, wanted});
        EXPECT_EQ(redo->numbers().segments(), had) << room;
    }
    redo.reset();
    g->disk.become({});
    g->capacity = journal::ring::file_bytes(journal::page, journal::least_segments) - 1;
    const auto none = journal::redo_journal::start(std::make_unique<gated_disk>(g),
                                                   std::make_unique<gated_disk>(base_gate),
                                                   {{7}, 3}, 0, {journal::page, wanted});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, errc::no_space);
}

TEST_F(redo_journal, old_records_stay_until_three_fifths_are_in_use) {
    open_the_gate();
    const auto& numbers = redo->numbers();
    for (u64 i = 1; i <= due_segments; ++i) {
        end_large_epoch();
        redo->wait_idle([] { return false; });
        ASSERT_EQ(numbers.used(), i);
    }
    EXPECT_EQ(numbers.base_bytes(), 0U);
    end_large_epoch();
    wait_until([&] { return numbers.applied_epoch() == due_segments; });
    EXPECT_GT(numbers.base_bytes(), 0U);
}

TEST_F(redo_journal, grows_to_a_quarter_more_than_the_base_and_then_waits_for_it) {
    base_gate->shut = true;
    open_the_gate();
    const auto& numbers = redo->numbers();
    for (u64 i = 0; i < most_segments + 1; ++i) end_large_epoch();
    wait_until([&] { return base_gate->waiting == 1 && numbers.records() == most_segments - 1; });
    EXPECT_FALSE(redo->is_ready());
    EXPECT_EQ(numbers.used(), most_segments - 1) << "one is kept free";
    open(*base_gate);
    wait_until([&] { return numbers.records() == most_segments + 1; });
    EXPECT_EQ(numbers.segments(), most_segments);
    // While a segment is free, it makes no difference that the journal has its maximum size.
    ASSERT_TRUE(redo->apply_all());  // no space is requested any more
    for (u64 i = numbers.used() + 1; i <= due_segments; ++i) {
        end_large_epoch();
        redo->wait_idle([] { return false; });
        EXPECT_EQ(numbers.used(), i) << "applied too early";
    }
}

TEST_F(redo_journal, may_become_larger_when_the_base_has_become_larger) {
    open_the_gate();
    const auto& numbers = redo->numbers();
    redo->base_has_grown(2 * lines * line_size);
    end_large_epoch();  // syncs the base first, which then has been written up to here
    redo->wait_idle([] { return false; });
    base_gate->shut = true;
    for (u64 i = 0; i < 2 * most_segments; ++i) end_large_epoch();
    wait_until(
        [&] { return base_gate->waiting == 1 && numbers.records() == 2 * most_segments - 1; });
    EXPECT_EQ(numbers.used(), 2 * most_segments - 1) << "one is kept free";
    open(*base_gate);
    wait_until([&] { return numbers.records() == 2 * most_segments + 1; });
    EXPECT_EQ(numbers.segments(), 2 * most_segments);
}

}  // namespace hf::test
