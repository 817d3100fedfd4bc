// The public snapshot: what is there after closing, checkpoints, growth, and what it counts.
// Crashes are the business of crash_test.cpp.
#include <holdfast/snapshot.hpp>

#include "paging/page_tracker.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

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

TEST_F(snapshots, sizes_are_whole_pages_that_hold_what_was_asked_for) {
    constexpr u64 page = layout::page_size;
    for (const u64 bytes : {u64{1}, page, page + 1}) {
        const u64 pages = (bytes + page - 1) / page;
        fs::remove(file);
        snapshot s = open(options(bytes));
        EXPECT_EQ(s.memory().size(), pages * page) << bytes;
        must(s.grow(0));
        EXPECT_EQ(s.memory().size(), pages * page) << "nothing was requested";
        must(s.grow(bytes));
        EXPECT_EQ(s.memory().size(), 2 * pages * page) << "grown by " << bytes;
        EXPECT_EQ(s.stats().bytes, s.memory().size());
        must(s.close());
        snapshot_options look = options(3 * pages * page);
        look.region.mode = open_mode::inspect;
        EXPECT_EQ(open(look).memory().size(), 2 * pages * page) << "an inspection grows nothing";
        EXPECT_EQ(open(options(0)).memory().size(), 2 * pages * page) << "it has more already";
        EXPECT_EQ(open(options(2 * pages * page + 1)).memory().size(), (2 * pages + 1) * page);
    }
}

TEST_F(snapshots, a_root_may_fill_all_of_the_memory) {
    struct just {
        std::byte bytes[layout::page_size];
    };
    struct more {
        std::byte bytes[layout::page_size + 1];
    };
    const snapshot s = open(options(layout::page_size));
    EXPECT_EQ(static_cast<void*>(s.root<just>()), s.memory().data());
    EXPECT_EQ(s.root<more>(), nullptr);
}

TEST_F(snapshots, one_that_is_moved_away_from_is_closed_by_its_heir) {
    const fs::path other = dir / "other.hf";
    const fs::path others_journal = dir / "other.hf.journal";
    snapshot a = open();
    a.root<game_state>()->score = 1;
    snapshot b = must(snapshot::open(other, options()));
    b.root<game_state>()->score = 2;
    a = std::move(b);
    EXPECT_FALSE(fs::exists(journal)) << "what it was before is closed";
    EXPECT_TRUE(fs::exists(others_journal));
    EXPECT_EQ(a.root<game_state>()->score, 2U);
    snapshot& same = a;
    a = std::move(same);
    EXPECT_EQ(a.root<game_state>()->score, 2U);
    snapshot c = std::move(a);
    EXPECT_EQ(c.root<game_state>()->score, 2U);
    must(c.close());
    must(c.close());
    EXPECT_FALSE(fs::exists(others_journal));
    EXPECT_EQ(open().root<game_state>()->score, 1U);
}

TEST_F(snapshots, a_checkpoint_ends_the_running_epoch_and_no_other) {
    snapshot s = open();
    for (int i = 0; i < 5; ++i) {
        const ticket running = s.stats().epoch;
        EXPECT_LT(s.durable(), running);
        const ticket taken = i % 2 == 0 ? must(s.checkpoint()) : running;
        if (i % 2 != 0) must(s.checkpoint_durably());
        EXPECT_EQ(taken, running);
        EXPECT_EQ(s.stats().epoch, running + 1);
        {
            const snapshot::guard inside(s);
            EXPECT_EQ(inside.written_in(), running + 1);
        }
        must(s.wait_durable(taken));
        EXPECT_EQ(s.durable(), taken);
        EXPECT_EQ(s.stats().durable, taken);
    }
}

TEST_F(snapshots, statistics_tell_whether_it_was_made_and_recovered) {
    const auto expect = [](const snapshot& s, bool created, bool recovered) {
        EXPECT_EQ(s.created(), created);
        EXPECT_EQ(s.recovered(), recovered);
        EXPECT_EQ(s.stats().created, created);
        EXPECT_EQ(s.stats().recovered, recovered);
    };
    const int ended = test::in_child([&]() -> int {
        snapshot s = open();
        expect(s, true, false);
        must(s.checkpoint_durably());
        const snapshot_statistics told = s.stats();
        EXPECT_GT(told.pause.count, 0U);
        EXPECT_GE(told.pause.max_ns, told.pause.last_ns);
        EXPECT_GT(told.last_look_ns, 0U);
        EXPECT_GT(told.journal.syncs, 0U);
        if (::testing::Test::HasFailure()) return 1;
        ::_exit(0);
    });
    ASSERT_EQ(ended, 0);
    {
        snapshot_options o = options();
        o.region.mode = open_mode::inspect;
        expect(open(o), false, true);
    }
    expect(open(), false, true);
    expect(open(), false, false);
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
        EXPECT_EQ(s.checkpoint_durably().error().code, errc::denied);
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
    // If the machine does not offer a way, a later one in the list is used.
    const std::vector<std::string> ways{"written", "copies", "all"};
    const auto asked = std::string(to_string(static_cast<page_tracker::way>(GetParam())));
    EXPECT_NE(std::find(std::ranges::find(ways, asked), ways.end(), after.tracking), ways.end())
        << after.tracking;
}

INSTANTIATE_TEST_SUITE_P(ways, every_way,
                         ::testing::Values(page_tracking::written, page_tracking::copies,
                                           page_tracking::all),
                         [](const auto& one) {
                             const auto way = static_cast<page_tracker::way>(one.param);
                             return std::string(to_string(way));
                         });

TEST_F(snapshots, that_were_closed_leave_their_file_and_refuse) {
    snapshot s = open();
    must(s.checkpoint_durably());
    must(s.close());
    const snapshot other = open();
    EXPECT_EQ(s.checkpoint().error().code, errc::usage);
    EXPECT_EQ(s.checkpoint_durably().error().code, errc::usage);
    EXPECT_EQ(s.grow(1).error().code, errc::usage);
    EXPECT_EQ(s.wait_durable(0).error().code, errc::usage);
    EXPECT_EQ(s.durable(), 0U);
    EXPECT_FALSE(s.created() || s.recovered());
    EXPECT_EQ(s.stats().epoch, 0U);
    EXPECT_TRUE(s.memory().empty());
    EXPECT_TRUE(s.close());
}

using snapshots_death = snapshots;

// The journal's threads are the parent's: a wait for them would never end.
TEST_F(snapshots_death, a_child_of_fork_has_only_the_memory) {
    snapshot s = open();
    *s.root<std::uint64_t>() = 7;
    must(s.checkpoint_durably());
    EXPECT_DEATH((void)s.checkpoint(), "holdfast: fatal: .*child of fork");
    EXPECT_DEATH((void)s.checkpoint_durably(), "child of fork");
    const auto in_child = [&](const auto& work) { EXPECT_EQ(test::in_child(work), 0); };
    in_child([&] { return *s.root<std::uint64_t>() == 7 ? 0 : 1; });
    in_child([&] { return s.close() ? 1 : 0; });
    in_child([&] {
        {
            const snapshot inherited = std::move(s);
        }  // its destructor waits for nothing
        return 0;
    });
    *s.root<std::uint64_t>() = 8;
    must(s.checkpoint_durably());
    must(s.close());
}

TEST_F(snapshots_death, a_thread_that_would_wait_for_itself_is_told) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // the journal has threads
    snapshot s = open();
    const snapshot::guard inside(s);
    EXPECT_DEATH((void)s.checkpoint(), "holds a guard");
    EXPECT_DEATH(const snapshot::guard second(s), "holds a guard");
    EXPECT_DEATH((void)s.grow(1), "holds a guard");
    EXPECT_DEATH((void)s.wait_durable(1), "holds a guard");
    EXPECT_DEATH((void)s.close(), "holds a guard");
}

TEST_F(snapshots_death, one_that_was_closed_is_not_used) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    snapshot s = open();
    must(s.close());
    EXPECT_DEATH(const snapshot::guard inside(s), "was closed");
}

}  // namespace
}  // namespace hf
