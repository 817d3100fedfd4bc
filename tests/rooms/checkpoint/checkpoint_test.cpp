// External log and failed epochs of a checkpointed region in tmpfs, brought up by open().
#include "checkpoint/checkpoint_area.hpp"
#include "checkpoint/opening.hpp"
#include "checkpoint/operation.hpp"
#include "support/must.hpp"
#include "support/scratch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace hf {
namespace {

using test::must;

class checkpoint_test : public test::on_tmpfs {
   protected:
    void open(u64 bytes = u64{1} << 20) {
        crash();
        region_options o;
        o.initial_size = bytes;
        o.flush = flush_policy::always;
        up_ = checkpointed_region(must(open_region(file, o)));
        checkpoint_options by_hand;
        by_hand.epoch = no_clock;
        must(opening(up_, by_hand).run());
    }
    void crash() { up_ = {}; }
    /// A place for test data: the first heap segment.
    char* bytes(u64 at = 0) { return up_.file().at<char>(layout::page_size + at); }

    checkpointed_region up_;
};

TEST_F(checkpoint_test, every_crash_adds_its_epoch_to_the_failed_set) {
    open();
    std::vector<u64> crashed;
    for (int i = 0; i < 5; ++i) {
        up_.epochs().end_epoch();
        crashed.push_back(up_.epochs().current_epoch());
        crash();
        open();
        for (u64 e : crashed) EXPECT_TRUE(up_.checkpoint().failed().contains(e));
        EXPECT_EQ(up_.checkpoint().failed().count(), crashed.size());
        EXPECT_FALSE(up_.checkpoint().failed().contains(up_.epochs().current_epoch()));
        EXPECT_EQ(up_.checkpoint().horizon(), crashed.back() + 1);
    }
    must(up_.checkpoint().clear_failed());
    EXPECT_EQ(up_.checkpoint().horizon(), 0U);
    crash();
    open();
    EXPECT_EQ(up_.checkpoint().failed().count(), 1U);
}

TEST_F(checkpoint_test, crashes_in_the_first_epoch_of_a_session_extend_one_range) {
    open();
    for (unsigned i = 0; i < 3 * max_failed_ranges; ++i) {
        crash();
        open();
    }
    EXPECT_EQ(up_.checkpoint().failed().ranges().size(), 1U);
    EXPECT_FALSE(up_.checkpoint().must_sweep_first());
}

TEST_F(checkpoint_test, a_set_that_is_nearly_full_asks_to_be_swept) {
    open();
    for (unsigned i = 0; i + 1 < max_failed_ranges && !up_.checkpoint().must_sweep_first(); ++i) {
        up_.epochs().end_epoch();
        crash();
        open();
    }
    EXPECT_TRUE(up_.checkpoint().must_sweep_first());
    must(up_.checkpoint().clear_failed());
    EXPECT_FALSE(up_.checkpoint().must_sweep_first());
}

TEST_F(checkpoint_test, the_log_brings_objects_back_and_only_those_of_the_crashed_epoch) {
    open();
    std::memset(bytes(), 'a', 1024);
    const auto log = [&](u64 at) {
        operation op(up_.checkpoint());
        const log_object o{layout::page_size + at, 300};
        must(op.log(std::span(&o, 1)));
    };
    log(0);
    std::memset(bytes(), 'b', 300);
    up_.epochs().end_epoch();
    log(512);
    std::memset(bytes(512), 'c', 300);
    crash();
    open();
    EXPECT_EQ(up_.checkpoint().recovered_entries(), 1U);
    EXPECT_EQ(bytes()[0], 'b') << "an entry of a complete epoch was applied";
    EXPECT_EQ(bytes(512)[0], 'a') << "an entry of the crashed epoch was not applied";
}

TEST_F(checkpoint_test, a_torn_entry_ends_its_segment) {
    open();
    std::memset(bytes(), 'a', 4096);
    u64 entry_at = 0;
    {
        operation op(up_.checkpoint());
        const log_object o[2] = {{layout::page_size, 300}, {layout::page_size + 512, 300}};
        must(op.log(std::span(o, 2)));
        for (const segment& s : up_.file().segments()) {
            if (s.kind == segment_kind::log) entry_at = s.offset;
        }
    }
    std::memset(bytes(), 'b', 300);
    std::memset(bytes(512), 'b', 300);
    up_.file().at<char>(entry_at)[detail::log_entry_stride(300) + 100] ^= 1;
    crash();
    open();
    EXPECT_EQ(up_.checkpoint().recovered_entries(), 1U);
    EXPECT_EQ(bytes()[0], 'a');
    EXPECT_EQ(bytes(512)[0], 'b');
}

TEST_F(checkpoint_test, an_object_is_logged_while_others_try_the_lock_that_lies_in_it) {
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
        operation op(up_.checkpoint());
        const log_object o{layout::page_size, 300};
        for (int i = 0; i < 1000; ++i) must(op.log(std::span(&o, 1)));
    }
    is_logged.store(true, std::memory_order_relaxed);
    other.join();
    crash();
    open();
    EXPECT_EQ(*reinterpret_cast<u64*>(bytes(0)), 1U);
}

TEST_F(checkpoint_test, the_log_grows_and_all_of_it_is_applied) {
    open(u64{8} << 20);
    constexpr u64 objects = 4000;
    constexpr u64 large_objects = 1000;
    std::memset(bytes(), 'a', objects * 64);
    {
        operation op(up_.checkpoint());
        for (u64 i = 0; i < objects; ++i) {
            const log_object o{layout::page_size + i * 64, 64};
            must(op.log(std::span(&o, 1)));
        }
        // Small objects fit into one segment; large ones make several.
        for (u64 i = 0; i < large_objects; ++i) {
            const log_object o{layout::page_size + objects * 64 + i * max_log_object,
                               max_log_object};
            must(op.log(std::span(&o, 1)));
        }
    }
    std::memset(bytes(), 'b', objects * 64);
    crash();
    open();
    EXPECT_EQ(up_.checkpoint().recovered_entries(), objects + large_objects);
    for (u64 i = 0; i < objects * 64; ++i) ASSERT_EQ(bytes()[i], 'a');
}

TEST_F(checkpoint_test, entries_of_all_lanes_are_counted) {
    open();
    const auto log = [&](u64 at, u32 size) {
        operation op(up_.checkpoint());
        const log_object o{layout::page_size + at, size};
        must(op.log(std::span(&o, 1)));
    };
    log(0, 300);
    std::thread([&] {
        log(512, 64);
        log(1024, 64);
    }).join();
    EXPECT_EQ(up_.checkpoint().log_entries(), 3U);
    EXPECT_EQ(up_.checkpoint().log_bytes(),
              detail::log_entry_stride(300) + 2 * detail::log_entry_stride(64));
}

TEST_F(checkpoint_test, the_last_pass_is_the_first_sessions_beginning_until_there_is_one) {
    const auto last_pass = [&] { return checkpoint_area_of(up_.file().super()).last_pass_epoch; };
    open();
    const u64 first = up_.epochs().current_epoch();
    EXPECT_EQ(last_pass(), first);
    for (int i = 0; i < 3; ++i) {
        up_.epochs().end_epoch();
        open();
        EXPECT_EQ(last_pass(), first);
    }
    up_.epochs().end_epoch();
    must(up_.checkpoint().clear_failed());
    EXPECT_EQ(last_pass(), up_.epochs().current_epoch());
    EXPECT_EQ(checkpoint_area_of(up_.file().super()).failed_count, 0U);
}

TEST_F(checkpoint_test, a_pass_is_due_when_an_eighth_of_the_compact_epochs_has_gone_by) {
    open();
    EXPECT_FALSE(up_.checkpoint().restamp_due());
    for (const bool is_due : {true, false, true}) {
        crash();
        test::change_superblocks(file, [&](layout::superblock& s) {
            change_checkpoint_area(s, [&](checkpoint_area& c) {
                c.last_pass_epoch = (u64{1} << 33) - (is_due ? 0 : 1);
            });
        });
        open();
        EXPECT_EQ(up_.checkpoint().restamp_due(), is_due);
    }
    must(up_.checkpoint().clear_failed());
    EXPECT_FALSE(up_.checkpoint().restamp_due());
}

TEST_F(checkpoint_test, nothing_has_failed_and_no_pass_is_due_where_nothing_is_to_survive) {
    open();
    up_.epochs().end_epoch();
    open();
    ASSERT_FALSE(up_.checkpoint().failed().empty());
    crash();
    test::change_superblocks(file, [](layout::superblock& s) {
        change_checkpoint_area(s, [](checkpoint_area& c) { c.last_pass_epoch = u64{1} << 33; });
    });
    up_ = checkpointed_region(must(open_region(file, test::small_options())));
    checkpoint_options transient;
    transient.epoch = no_clock;
    transient.durable = false;
    must(up_.read_epochs(transient));
    EXPECT_TRUE(up_.checkpoint().failed().empty());
    EXPECT_FALSE(up_.checkpoint().restamp_due());
}

TEST_F(checkpoint_test, a_session_begins_with_as_many_ranges_as_there_is_room_for) {
    open();
    for (unsigned i = 0; i < 3 * max_failed_ranges; ++i) up_.epochs().end_epoch();
    for (const u32 ranges : {max_failed_ranges - 1, max_failed_ranges}) {
        crash();
        test::change_superblocks(file, [&](layout::superblock& s) {
            change_checkpoint_area(s, [&](checkpoint_area& c) {
                c.failed_count = ranges;
                for (u32 i = 0; i < ranges; ++i) c.failed[i] = {2 * i + 1, 2 * i + 1};
            });
        });
        up_ = checkpointed_region(must(open_region(file, test::small_options())));
        checkpoint_options by_hand;
        by_hand.epoch = no_clock;
        const auto opened = opening(up_, by_hand).run();  // one more: the crash just now
        EXPECT_EQ(opened.has_value(), ranges < max_failed_ranges);
        if (!opened) {
            EXPECT_EQ(opened.error().code, errc::corrupt);
        }
    }
}

TEST_F(checkpoint_test, an_impossible_failed_set_is_refused) {
    open();
    crash();
    test::change_superblocks(file, [](layout::superblock& s) {
        change_checkpoint_area(s, [](checkpoint_area& c) {
            c.failed_count = 2;
            c.failed[0] = {3, 5};
            c.failed[1] = {6, 7};
        });
    });
    const auto seen = checkpointed_region::look_at(file);
    ASSERT_FALSE(seen);
    EXPECT_EQ(seen.error().code, errc::corrupt);
}

TEST_F(checkpoint_test, steps_run_in_the_order_of_their_phases_with_the_sessions_between_them) {
    crash();
    up_ = checkpointed_region(must(open_region(file, test::small_options())));
    checkpoint_options by_hand;
    by_hand.epoch = no_clock;
    opening up(up_, by_hand);
    const auto nothing = [] { return result<void>{}; };
    up.add(recovery_phase::format, "format", nothing);
    up.add(recovery_phase::logs, "another log", nothing);
    up.add(recovery_phase::allocator, "heap", nothing);
    up.add(recovery_phase::discipline, "root", nothing);
    up.begin_session();
    up.add(recovery_phase::discipline, "structure", nothing);
    up.add(recovery_phase::verification, "sweep", nothing);
    must(up.run());
    std::vector<std::string> names;
    for (const step_time& t : up.report()) names.push_back(t.name);
    const std::vector<std::string> expected{"place",       "region",       "epochs", "format",
                                            "another log", "external log", "heap",   "root",
                                            "session",     "structure",    "sweep",  "clock"};
    EXPECT_EQ(names, expected);
}

TEST_F(checkpoint_test, a_step_that_fails_leaves_the_crashed_epoch_to_the_next_opening) {
    open();
    up_.epochs().end_epoch();
    const u64 crashed = up_.epochs().current_epoch();
    crash();
    up_ = checkpointed_region(must(open_region(file, test::small_options())));
    checkpoint_options by_hand;
    by_hand.epoch = no_clock;
    {
        opening up(up_, by_hand);
        up.add(recovery_phase::discipline, "root", [] {
            return result<void>(
                failure({errc::corrupt, "find the root", "nowhere", "it is gone", "look"}));
        });
        EXPECT_FALSE(up.run());
    }
    open();
    EXPECT_TRUE(up_.checkpoint().failed().contains(crashed));
    EXPECT_EQ(up_.checkpoint().failed().count(), 1U);
    EXPECT_EQ(up_.epochs().current_epoch(), crashed + 1);
}

TEST_F(checkpoint_test, a_look_at_a_region_knows_what_a_crash_has_left_and_changes_nothing) {
    open();
    up_.epochs().end_epoch();
    const u64 crashed = up_.epochs().current_epoch();
    crash();
    const auto before = test::fingerprint_of(file);
    {
        const auto seen = must(checkpointed_region::look_at(file));
        EXPECT_TRUE(seen.checkpoint().needs_recovery());
        EXPECT_TRUE(seen.checkpoint().failed().contains(crashed));
        EXPECT_EQ(seen.epochs().current_epoch(), crashed + 1);
    }
    EXPECT_EQ(test::fingerprint_of(file), before);
}

}  // namespace
}  // namespace hf
