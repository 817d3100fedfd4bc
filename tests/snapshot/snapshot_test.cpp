// The public snapshot: what is there after closing, checkpoints, growth, and what it counts.
// Crashes are the business of crash_test.cpp.
#include <holdfast/snapshot.hpp>

#include "must.hpp"
#include "paging/page_tracker.hpp"
#include "scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace hf {
namespace {

namespace fs = std::filesystem;
using test::must;

struct game_state {
    u64 score;
    int board[64];
};

class snapshots : public test::on_tmpfs {
   protected:
    [[nodiscard]] static snapshot_options options(u64 bytes = u64{1} << 20) {
        snapshot_options o;
        o.bytes = bytes;
        o.region.medium = medium_kind::file;
        return o;
    }
    [[nodiscard]] snapshot open(const snapshot_options& o = options()) const {
        return must(snapshot::open(file, o));
    }
    fs::path journal = dir / "store.hf.journal";
};

TEST_F(snapshots, plain_stores_are_there_after_closing) {
    {
        snapshot s = open();
        EXPECT_TRUE(s.created());
        EXPECT_FALSE(s.recovered());
        EXPECT_TRUE(fs::exists(journal));
        auto* game = s.root<game_state>();
        EXPECT_EQ(game->score, 0U);
        game->score = 42;
        game->board[63] = -1;
        must(s.close());
        EXPECT_TRUE(s.memory().empty());
    }
    EXPECT_FALSE(fs::exists(journal));
    const snapshot s = open();
    EXPECT_FALSE(s.created());
    EXPECT_FALSE(s.recovered());
    EXPECT_EQ(s.root<game_state>()->score, 42U);
    EXPECT_EQ(s.root<game_state>()->board[63], -1);
}

TEST_F(snapshots, memory_is_aligned_zero_and_as_large_as_was_asked_for) {
    const snapshot s = open(options((u64{1} << 20) + 1));
    EXPECT_EQ(s.memory().size(), (u64{1} << 20) + layout::page_size);
    EXPECT_EQ(reinterpret_cast<u64>(s.memory().data()) % layout::page_size, 0U);
    EXPECT_TRUE(std::all_of(s.memory().begin(), s.memory().end(),
                            [](std::byte b) { return b == std::byte{0}; }));
    struct too_large {
        std::byte bytes[u64{2} << 20];
    };
    EXPECT_EQ(s.root<too_large>(), nullptr);
}

TEST_F(snapshots, the_destructor_closes) {
    open().root<game_state>()->score = 7;
    EXPECT_FALSE(fs::exists(journal));
    EXPECT_EQ(open().root<game_state>()->score, 7U);
}

TEST_F(snapshots, a_checkpoint_has_a_ticket_and_becomes_durable) {
    snapshot s = open();
    s.root<game_state>()->score = 1;
    const ticket first = must(s.checkpoint());
    s.root<game_state>()->score = 2;
    const ticket second = must(s.checkpoint());
    EXPECT_LT(first, second);
    must(s.wait_durable(second));
    EXPECT_GE(s.durable(), second);
    must(s.wait_durable(first));
}

TEST_F(snapshots, without_a_clock_nothing_becomes_durable_by_itself) {
    snapshot s = open();
    s.root<game_state>()->score = 1;
    const ticket running = s.stats().epoch;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(s.stats().epoch, running);
    EXPECT_LT(s.durable(), running);
}

TEST_F(snapshots, what_the_running_epoch_stores_is_part_of_the_ticket_of_its_guard) {
    snapshot_options o = options();
    o.epoch = std::chrono::milliseconds(1);
    snapshot s = open(o);
    ticket t = 0;
    {
        const snapshot::guard inside(s);
        s.root<game_state>()->score = 1;
        t = inside.written_in();
    }
    while (s.durable() < t) std::this_thread::yield();  // by the clock
}

TEST_F(snapshots, they_grow_and_stay_where_they_are) {
    {
        snapshot s = open();
        const std::span before = s.memory();
        const std::string tracking = s.stats().tracking;
        must(s.grow(100'000));
        EXPECT_EQ(s.memory().data(), before.data());
        EXPECT_EQ(s.memory().size(), before.size() + 2 * layout::page_size);
        EXPECT_EQ(s.memory().back(), std::byte{0});
        s.memory().back() = std::byte{9};
        must(s.checkpoint_durably());
        EXPECT_EQ(s.stats().tracking, tracking) << "what was added is tracked as the rest is";
    }
    snapshot s = open(options(u64{2} << 20));
    EXPECT_EQ(s.memory().size(), u64{2} << 20) << "it had less, and was asked for more";
    EXPECT_EQ(s.memory()[(u64{1} << 20) + 2 * layout::page_size - 1], std::byte{9});
    must(s.close());
    EXPECT_EQ(open().memory().size(), u64{2} << 20) << "it never becomes smaller";
}

TEST_F(snapshots, inspection_sees_everything_and_changes_nothing) {
    open().root<game_state>()->score = 5;
    const auto before = test::fingerprint_of(file);
    {
        snapshot_options o = options();
        o.region.mode = open_mode::inspect;
        snapshot s = open(o);
        EXPECT_EQ(s.root<game_state>()->score, 5U);
        s.root<game_state>()->score = 6;  // in its own copy of the page
        EXPECT_EQ(s.checkpoint().error().code, errc::denied);
        EXPECT_EQ(s.grow(1).error().code, errc::denied);
        must(s.close());
    }
    EXPECT_EQ(test::fingerprint_of(file), before);
}

class every_way : public snapshots, public ::testing::WithParamInterface<page_tracking> {};

TEST_P(every_way, just_the_changed_lines_reach_the_journal) {
    snapshot_options o = options();
    o.tracking = GetParam();
    snapshot s = open(o);
    must(s.checkpoint_durably());
    const snapshot_statistics before = s.stats();
    for (u64 i = 0; i < 100; ++i) s.memory()[i * 8192] = std::byte{1};
    must(s.checkpoint_durably());
    const snapshot_statistics after = s.stats();
    EXPECT_EQ(after.lines_found - before.lines_found, 100U);
    EXPECT_GE(after.pages_looked_at - before.pages_looked_at, 100U);
    EXPECT_EQ(after.journal.records - before.journal.records, 1U);
    EXPECT_LT(after.journal.record_bytes - before.journal.record_bytes, 100U * 4096);
    EXPECT_EQ(after.bytes, s.memory().size());
    EXPECT_FALSE(after.tracking.empty());
}

INSTANTIATE_TEST_SUITE_P(ways, every_way,
                         ::testing::Values(page_tracking::written, page_tracking::copies,
                                           page_tracking::all),
                         [](const auto& one) {
                             const auto way = static_cast<page_tracker::way>(one.param);
                             return std::string(to_string(way));
                         });

using snapshots_death = snapshots;

TEST_F(snapshots_death, a_thread_that_would_wait_for_itself_is_told) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // the journal has threads
    snapshot s = open();
    const snapshot::guard inside(s);
    EXPECT_DEATH((void)s.checkpoint(), "holds a guard");
    EXPECT_DEATH(const snapshot::guard second(s), "holds a guard");
}

}  // namespace
}  // namespace hf
