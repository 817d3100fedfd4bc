// The threads of a journal on disks that are full, or fail.
#include "gated_journal.hpp"
#include "journal/scan.hpp"
#include "support/must.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace hf::test {
namespace {

/// The gate of the journal, and that of a copy in another process.
class two_gates {
   public:
    two_gates() = default;
    two_gates(const two_gates&) = delete;
    two_gates& operator=(const two_gates&) = delete;
    ~two_gates() {
        ::close(mine_);
        ::close(theirs_);
    }
    [[nodiscard]] journal::copy_gate ours() const { return journal::copy_gate(mine_); }
    [[nodiscard]] journal::copy_gate theirs() const { return journal::copy_gate(theirs_); }

   private:
    int mine_ = ::memfd_create("journal", MFD_CLOEXEC);
    int theirs_ = ::open(("/proc/self/fd/" + std::to_string(mine_)).c_str(), O_RDWR | O_CLOEXEC);
};

class redo_refusal : public gated_journal {
   protected:
    void SetUp() override {
        gated_journal::SetUp();
        g->shut = false;
        redo->set_listener([this](std::optional<u64> e) { e ? ++told : ++refused; });
        redo->set_applied_listener([this](u64) { ++applied; });
    }
    void TearDown() override { redo.reset(); }
    void idle() {
        redo->wait_idle([] { return false; });
    }
    /// No space for the journal to grow.
    void fill_up() {
        const std::lock_guard lock(g->mutex);
        g->capacity = g->disk.now().size();
    }
    [[nodiscard]] u64 last_epoch_found() const {
        const auto found = journal::scan(g->disk);
        EXPECT_TRUE(found) << found.error().to_string();
        return found ? std::max(found->last_epoch, found->header.base_epoch) : 0;
    }

    std::atomic<u64> told{0};
    std::atomic<u64> refused{0};
    std::atomic<u64> applied{0};
};

}  // namespace

TEST_F(redo_refusal, is_ready_for_two_and_for_a_third_when_one_is_written) {
    g->shut = true;
    EXPECT_TRUE(redo->is_ready());
    end_epoch(1);
    EXPECT_TRUE(redo->is_ready());
    EXPECT_TRUE(redo->wait_ready());
    end_epoch(1);
    EXPECT_FALSE(redo->is_ready());
    std::thread waits([&] {
        EXPECT_TRUE(redo->wait_ready());
        EXPECT_GE(redo->numbers().records(), 1U) << "it did not wait";
        EXPECT_TRUE(redo->is_ready());
    });
    wait_until([&] { return g->waiting == 1; });
    let_one_through();
    waits.join();
    open_the_gate();
}

TEST_F(redo_refusal, lets_nobody_wait_and_says_why) {
    fill_up();
    end_epoch(lines);
    end_epoch(1);
    wait_until([&] { return redo->refusal().has_value(); });
    EXPECT_GT(refused, 0U) << "who listens is told before anybody can see it";
    EXPECT_TRUE(redo->is_refusing());
    EXPECT_EQ(redo->refusal()->code, errc::no_space);
    EXPECT_FALSE(redo->wait_ready());
    idle();
    const auto closed = redo->apply_all();
    ASSERT_FALSE(closed);
    EXPECT_EQ(closed.error().code, errc::no_space);
    EXPECT_EQ(told, 0U);
    g->capacity = ~u64{0};
    wait_until([&] { return told == 2; });
    EXPECT_TRUE(redo->wait_ready());
    EXPECT_FALSE(redo->is_refusing());
    EXPECT_FALSE(redo->refusal());
    EXPECT_TRUE(redo->apply_all());
    EXPECT_EQ(redo->numbers().applied_epoch(), 2U);
}

TEST_F(redo_refusal, does_not_come_while_old_records_can_go) {
    fill_up();
    for (int i = 0; i < 12; ++i) end_large_epoch();
    idle();
    EXPECT_EQ(refused, 0U);
    EXPECT_EQ(redo->numbers().records(), 12U);
    EXPECT_EQ(redo->numbers().segments(), 4U);
    EXPECT_GT(applied, 0U);
}

// The journal can be destroyed at any time: no thread and no pending record remains.
TEST_F(redo_refusal, ends_with_the_journal_at_any_moment) {
    for (int turn = 0; turn < 30; ++turn) {
        g->capacity = ~u64{0};
        start(small);
        fill_up();
        end_epoch(lines);
        if (turn % 2 != 0) wait_until([&] { return redo->refusal().has_value(); });
        redo.reset();
        EXPECT_EQ(last_epoch_found(), 0U);
    }
}

TEST_F(redo_refusal, is_no_reason_to_lose_what_was_submitted_at_the_end) {
    for (int turn = 0; turn < 30; ++turn) {
        start(small);
        fill_up();
        end_large_epoch();
        end_large_epoch();
        idle();
        g->shut = true;
        const u64 before = g->waiting;
        end_epoch(1);
        end_large_epoch();  // needs space that the first epoch occupies
        wait_until([&] { return g->waiting > before; });
        std::thread opens([&] {
            for (int i = 0; i < turn * 20; ++i) std::this_thread::yield();
            open_the_gate();
        });
        redo.reset();
        opens.join();
        g->capacity = ~u64{0};
        EXPECT_EQ(last_epoch_found(), 4U) << "turn " << turn;
        while (g->passes.try_acquire()) {
        }
    }
}

TEST_F(redo_refusal, of_the_base_is_told_to_who_wants_it_complete) {
    end_epoch(3);
    idle();
    base_gate->full = true;
    for (int i = 0; i < 2; ++i) {
        const auto done = redo->apply_all();
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, errc::no_space);
        EXPECT_EQ(applied, 0U) << "the base has nothing";
        EXPECT_EQ(redo->numbers().applied_epoch(), 0U);
    }
    EXPECT_FALSE(redo->is_refusing()) << "records have their place";
    base_gate->full = false;
    ASSERT_TRUE(redo->apply_all());
    EXPECT_GT(applied, 0U);
    EXPECT_EQ(redo->numbers().applied_epoch(), 1U);
}

// Then the journal grows beyond its intended size, rather than stopping.
TEST_F(redo_refusal, of_the_base_lets_the_journal_grow) {
    base_gate->full = true;
    for (u64 i = 0; i < most_segments + 5; ++i) end_large_epoch();
    idle();
    EXPECT_EQ(refused, 0U);
    EXPECT_EQ(redo->numbers().records(), most_segments + 5);
    base_gate->full = false;
    EXPECT_TRUE(redo->apply_all());
}

TEST_F(redo_refusal, of_header_and_base_in_turn_ends_with_all_in_the_base) {
    for (int turn = 0; turn < 8; ++turn) {
        end_large_epoch();
        end_epoch(5);
        idle();
        base_gate->full = turn % 4 == 0;
        g->full = turn % 2 == 0;  // of the journal, including its header
        EXPECT_EQ(redo->apply_all().has_value(), turn % 2 != 0) << turn;
        base_gate->full = g->full = false;
        ASSERT_TRUE(redo->apply_all()) << turn;
        EXPECT_EQ(redo->numbers().used(), 0U);
        EXPECT_EQ(redo->numbers().applied_epoch(), epoch);
        EXPECT_EQ(last_epoch_found(), epoch);
    }
}

TEST_F(redo_refusal, old_records_go_when_somebody_asks) {
    end_epoch(1);
    idle();
    redo->ask_to_apply();
    wait_until([&] { return redo->numbers().applied_epoch() == 1; });
    wait_until([&] { return applied == 1; });
}

TEST_F(redo_refusal, two_may_want_the_base_complete) {
    end_epoch(1);
    idle();
    base_gate->shut = true;
    std::thread one([&] { EXPECT_TRUE(redo->apply_all()); });
    std::thread other([&] { EXPECT_TRUE(redo->apply_all()); });
    wait_until([&] { return base_gate->waiting == 1; });
    open(*base_gate);
    one.join();
    other.join();
    EXPECT_EQ(redo->numbers().applied_epoch(), 1U);
}

// A copy holds the gate for long, and only old records wait for it.
TEST_F(redo_refusal, a_large_epoch_waits_for_no_copy_that_it_cannot_gain_from) {
    const two_gates gates;
    start(small, gates.ours());
    const journal::copy_gate copy = gates.theirs();
    end_epoch(lines);
    ASSERT_TRUE(redo->apply_all());
    ASSERT_EQ(redo->numbers().segments(), most_segments);
    ASSERT_TRUE(copy.hold());
    end_epoch(1);
    end_epoch(lines);  // one segment is missing, and none can be freed
    idle();
    EXPECT_EQ(redo->numbers().records(), 3U);
    end_epoch(1);
    redo->ask_to_apply();
    idle();
    EXPECT_EQ(redo->numbers().applied_epoch(), 1U) << "the gate is held";
    copy.release();
    EXPECT_TRUE(redo->apply_all());
    redo.reset();
    ASSERT_TRUE(copy.hold()) << "the gate was given back";
}

namespace {

/// Accepts writes, and contains nothing.
class hollow_disk final : public journal::block_file {
   public:
    using block_file::write;
    result<void> write(u64, std::span<const std::span<const std::byte>>) override { return {}; }
    result<void> read(u64, std::span<std::byte>) override { return {}; }
    result<void> sync() override { return {}; }
    result<void> extend(u64) override { return {}; }
    result<u64> size() override { return 0; }
    [[nodiscard]] std::string name() const override { return "hollow"; }
};

}  // namespace

// When the disk fills up, the journal does not grow any more.
TEST_F(redo_refusal, a_comfortable_epoch_is_a_quarter_of_the_journal_as_it_is) {
    constexpr u64 segment = 4 * journal::page;
    const auto lines_of = [](u64 bytes) { return bytes / 4 / line_size; };
    EXPECT_EQ(redo->comfortable_lines(), lines_of(4 * segment));
    redo->base_has_grown(u64{1} << 20);
    EXPECT_EQ(redo->comfortable_lines(), lines_of(4 * segment));
    end_epoch(lines);
    idle();
    const u64 now = redo->numbers().segments();
    ASSERT_GT(now, 4U);
    EXPECT_EQ(redo->comfortable_lines(), lines_of(now * segment));
    const auto large = must(journal::redo_journal::start(
        std::make_unique<hollow_disk>(), std::make_unique<hollow_disk>(), {{7}, 3}, 0,
        {u64{600} << 20, journal::least_segments, ~u64{0}}));
    EXPECT_EQ(large->comfortable_lines(), (u64{256} << 20) / line_size);
}

// A copy may take long, and the disk may have space before.
TEST_F(redo_refusal, does_not_wait_for_the_end_of_a_copy) {
    const two_gates gates;
    start(small, gates.ours());
    const journal::copy_gate copy = gates.theirs();
    for (int i = 0; i < 2; ++i) end_large_epoch();
    idle();
    ASSERT_GT(redo->numbers().used(), 1U);
    fill_up();
    ASSERT_TRUE(copy.hold());
    end_epoch(lines);
    wait_until([&] { return redo->refusal().has_value(); });
    EXPECT_EQ(redo->numbers().applied_epoch(), 0U);
    g->capacity = ~u64{0};
    idle();
    wait_until([&] { return !redo->is_refusing(); });
    EXPECT_EQ(redo->numbers().records(), 3U);
    copy.release();
    EXPECT_TRUE(redo->apply_all());
    EXPECT_EQ(redo->numbers().applied_epoch(), 3U);
    redo.reset();
}

// A segment that was begun is not kept if the next record needs all of them.
TEST_F(redo_refusal, does_not_come_while_even_the_newest_segment_can_go) {
    fill_up();
    end_epoch(200);
    idle();
    ASSERT_EQ(redo->numbers().used(), 1U);
    end_epoch(700);  // three segments, with a free one after them
    idle();
    EXPECT_EQ(refused, 0U);
    EXPECT_EQ(redo->numbers().records(), 2U);
    EXPECT_EQ(redo->numbers().segments(), 4U);
    EXPECT_EQ(redo->numbers().applied_epoch(), 1U);
}

namespace {

/// A short run in which the Nth call of one of the disks fails. Returns the number of calls.
u64 live(u64 n, bool of_the_base) {
    lab::disk_faults faults{errc::io, n};
    const auto g = std::make_shared<gate>();
    const auto base = std::make_shared<gate>();
    base->disk.now().resize(lines * line_size);
    auto started = journal::redo_journal::start(
        std::make_unique<gated_disk>(g), std::make_unique<gated_disk>(base), {{7}, 3}, 0, small);
    EXPECT_TRUE(started);
    if (!started) return 0;
    auto redo = std::move(*started);
    (of_the_base ? base : g)->disk.faults = &faults;
    lab::bytes memory(lines * line_size, std::byte{1});
    dirty_set dirty(memory.data(), memory.size());
    for (u64 e = 1; e <= 3; ++e) {
        dirty.note(memory.data(), e * 100 * line_size);
        journal::capture& c = redo->begin();
        c.begin(e, dirty);
        c.copy(memory.data(), 0, c.size());
        redo->submit();
        redo->wait_idle([] { return false; });
        redo->base_has_grown(memory.size());
    }
    EXPECT_TRUE(redo->apply_all());
    redo.reset();
    return faults.calls;
}

}  // namespace

TEST(redo_failure, of_any_call_is_the_end_of_the_process) {
    for (const bool of_the_base : {false, true}) {
        const u64 calls = live(~u64{0}, of_the_base);
        EXPECT_GE(calls, 5U);
        for (u64 n = 0; n < calls; ++n) {
            EXPECT_DEATH((void)live(n, of_the_base), "holdfast: fatal: cannot") << n;
        }
    }
}

}  // namespace hf::test
