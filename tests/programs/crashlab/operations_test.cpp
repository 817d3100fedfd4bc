// Operations in the trace: what they promise, what they return, what the lint makes of them; and
// several files a target.
#include <holdfast/crashlab/key_history.hpp>

#include "crashlab/command/campaign.hpp"
#include "crashlab/laboratory.hpp"
#include "crashlab/lint/lint.hpp"
#include "crashlab/report/timeline.hpp"
#include "crashlab/seeded/rack.hpp"
#include "crashlab/seeded/twins.hpp"
#include "trace_maker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace hf::lab {
namespace {

using seeded::rack_bug;
using seeded::rack_case;
using seeded::rack_rules;
using seeded::twins_bug;
using seeded::twins_case;

// ---------------------------------------------------------------------------------- the promise

promised promises_of(const trace_maker& t) {
    static const std::vector<std::byte> zeros(64 * line_size);
    crash_model m(zeros.data(), persistence::pcso, zeros.size(), true);
    for (const event& e : t.events) m.advance(e);
    return m.promises();
}

TEST(promises, are_the_operations_that_have_returned_and_the_epoch_announced) {
    const auto p = promises_of(trace_maker().begun(7).begun(5).ended(5).announced(3));
    EXPECT_EQ(p.epoch, 3U);
    EXPECT_TRUE(p.has_begun(7));
    EXPECT_FALSE(p.has_returned(7));
    EXPECT_TRUE(p.has_returned(5));
    EXPECT_FALSE(p.has_begun(6));
}

TEST(promises, know_who_did_it_when_and_with_what_result) {
    const auto p = promises_of(trace_maker().by(2).store(64, 1).begun(7).fence().ended(7, 5, 99));
    const told_operation& o = p.operations.at(7);
    EXPECT_EQ(o.thread, 2U);
    EXPECT_EQ(o.begun, 1U);
    EXPECT_EQ(o.returned, 3U);
    EXPECT_EQ(o.result, 99U);
}

/// Writes 1, 2 ... of one key by operations of these numbers.
key_history writes_of(std::initializer_list<u64> values) {
    key_history h;
    for (const u64 v : values) h.writes(v, "k", v);
    return h;
}

bool may_remain(const key_history& h, const trace_maker& t, u64 found) {
    try {
        h.judge_remains(promises_of(t), "k", found);
        return true;
    } catch (const violation&) {
        return false;
    }
}

TEST(remains, are_what_has_returned_and_perhaps_what_has_begun) {
    const auto h = writes_of({1, 2, 3});
    const auto t = trace_maker().begun(1).ended(1).begun(2);
    EXPECT_FALSE(may_remain(h, t, 0));
    EXPECT_TRUE(may_remain(h, t, 1));
    EXPECT_TRUE(may_remain(h, t, 2));
    EXPECT_FALSE(may_remain(h, t, 3));
}

TEST(remains, of_operations_at_the_same_time_are_those_of_either) {
    const auto h = writes_of({1, 2});
    const auto t = trace_maker().begun(1).begun(2).ended(1).ended(2);
    EXPECT_FALSE(may_remain(h, t, 0));
    EXPECT_TRUE(may_remain(h, t, 1));
    EXPECT_TRUE(may_remain(h, t, 2));
}

TEST(remains, include_what_somebody_has_read) {
    auto h = writes_of({1});
    h.reads(8, "k");
    EXPECT_TRUE(may_remain(h, trace_maker().begun(1), 0));
    EXPECT_FALSE(may_remain(h, trace_maker().begun(1).begun(8).ended(8, 5, 1), 0));
    EXPECT_TRUE(may_remain(h, trace_maker().begun(1).begun(8), 0));
}

TEST(remains, include_a_remove_whose_gap_somebody_has_read) {
    key_history h;
    h.holds("k", 7);
    h.writes(1, "k", key_history::nothing);
    h.reads(8, "k");
    const auto removing = trace_maker().begun(1);
    EXPECT_TRUE(may_remain(h, removing, 7));
    EXPECT_TRUE(may_remain(h, trace_maker(removing).begun(8).ended(8, 5, 7), 7));
    EXPECT_FALSE(may_remain(h, trace_maker(removing).begun(8).ended(8, 5, 0), 7));
    // Of two removes it may have been either.
    h.writes(2, "k", 9);
    h.writes(3, "k", key_history::nothing);
    const auto two = trace_maker(removing).begun(2).begun(3);
    EXPECT_TRUE(may_remain(h, trace_maker(two).begun(8).ended(8, 5, 0), 7));
    EXPECT_TRUE(may_remain(h, trace_maker(two).begun(8).ended(8, 5, 0), 9));
    // Unless one was written over before the read began.
    const auto over = trace_maker().begun(1).ended(1).begun(2).ended(2).begun(3).begun(8);
    EXPECT_TRUE(may_remain(h, over, 9));
    EXPECT_FALSE(may_remain(h, trace_maker(over).ended(8, 5, 0), 9));
}

bool is_explained(const key_history& h, const trace_maker& t) {
    try {
        h.judge_reads(promises_of(t));
        return true;
    } catch (const violation&) {
        return false;
    }
}

TEST(reads_of_a_run, are_explained_by_an_order_of_what_overlaps) {
    auto h = writes_of({1});
    h.reads(8, "k");
    h.reads(9, "k");
    const auto overlapping = trace_maker().begun(8).begun(1).ended(1);
    EXPECT_TRUE(is_explained(h, trace_maker(overlapping).ended(8, 5, 0)));
    EXPECT_TRUE(is_explained(h, trace_maker(overlapping).ended(8, 5, 1)));
    EXPECT_FALSE(is_explained(h, trace_maker().begun(1).ended(1).begun(8).ended(8, 5, 0)));
    EXPECT_FALSE(is_explained(h, trace_maker().begun(8).ended(8, 5, 1).begun(1).ended(1)));
}

TEST(reads_of_a_run, do_not_go_back) {
    auto h = writes_of({1});
    h.reads(8, "k");
    h.reads(9, "k");
    const auto both = [&](u64 first, u64 second) {
        return is_explained(
            h, trace_maker().begun(1).begun(8).ended(8, 5, first).begun(9).ended(9, 5, second));
    };
    EXPECT_TRUE(both(0, 1));
    EXPECT_TRUE(both(1, 1));
    EXPECT_FALSE(both(1, 0));
}

// -------------------------------------------------------------------------------------- the rules

constexpr u64 line = 640;
constexpr u64 other = 704;
constexpr u64 lock_pc = 77;

source_places places() {
    source_places p;
    p.add(lock_pc, {{"unlock", "src/index/masstree/version.hpp", 102}});
    return p;
}

u64 fires(const trace_maker& t, rule r, const lint_rules& rules = rack_rules()) {
    u64 n = 0;
    for (const lint_finding& f : lint(t.events, places(), rules)) n += f.broken == r ? f.count : 0;
    return n;
}

TEST(rule_returned_early, fires_for_a_store_that_is_on_its_way_when_its_operation_returns) {
    const auto stored = trace_maker().begun(1).store(line, 1).flush(line);
    EXPECT_EQ(fires(trace_maker(stored).ended(1), rule::returned_early), 1U);
    EXPECT_EQ(fires(trace_maker(stored).fence().ended(1), rule::returned_early), 0U);
    EXPECT_EQ(fires(trace_maker(stored).by(1).fence().by(0).ended(1), rule::returned_early), 1U);
}

TEST(rule_returned_early, leaves_alone_what_was_stored_before_or_by_others) {
    EXPECT_EQ(fires(trace_maker().store(line, 1).begun(1).ended(1), rule::returned_early), 0U);
    EXPECT_EQ(
        fires(trace_maker().begun(1).by(1).store(line, 1).by(0).ended(1), rule::returned_early),
        0U);
}

TEST(rule_published_early, fires_for_a_release_store_before_what_it_publishes_is_sure) {
    const auto filled = trace_maker().begun(1).store(line, 1).flush(line);
    EXPECT_EQ(fires(trace_maker(filled).store(other, 2), rule::published_early), 1U);
    EXPECT_EQ(fires(trace_maker(filled).fence().store(other, 2), rule::published_early), 0U);
    EXPECT_EQ(fires(trace_maker(filled).store(line + 8, 2), rule::published_early), 0U);
    EXPECT_EQ(
        fires(trace_maker(filled).store(other, 2, 1, store_kind::plain), rule::published_early),
        0U);
}

TEST(rule_released_early, fires_for_a_lock_given_back_with_a_store_on_its_way) {
    const auto stored = trace_maker().begun(1).store(line, 1).flush(line);
    EXPECT_EQ(fires(trace_maker(stored).released(), rule::released_early), 1U);
    EXPECT_EQ(fires(trace_maker(stored).fence().released(), rule::released_early), 0U);
    EXPECT_EQ(fires(trace_maker(stored).by(1).released(), rule::released_early), 0U);
    lint_rules with_locks = rack_rules();
    with_locks.volatile_places = {{"src/index/masstree/version.hpp", {}}};
    EXPECT_EQ(fires(trace_maker(stored).store(other, 0, lock_pc), rule::released_early, with_locks),
              1U);
}

TEST(rules_of_a_target, say_which_hold) {
    const auto t = trace_maker().begun(1).store(line, 1).ended(1).announced();
    lint_rules silent = rack_rules();
    silent.silent = {rule::returned_early};
    EXPECT_EQ(fires(t, rule::returned_early), 1U);
    EXPECT_EQ(fires(t, rule::returned_early, silent), 0U);
    EXPECT_EQ(fires(t, rule::unnoted), 0U);
    EXPECT_EQ(fires(t, rule::returned_early, project_rules()), 0U);
    EXPECT_EQ(fires(t, rule::unnoted, project_rules()), 1U);
}

TEST(dirty_read_by_an_optimistic_reader, counts_when_it_acquires) {
    lint_rules acquiring = rack_rules();
    acquiring.dirty = reads::acquiring;
    trace_maker plain = trace_maker().store(line, 1).by(1).load(line).ended(1);
    trace_maker acquires = trace_maker().store(line, 1).by(1).load(line, 6, true).ended(1);
    EXPECT_EQ(fires(plain, rule::dirty_read), 1U);
    EXPECT_EQ(fires(plain, rule::dirty_read, acquiring), 0U);
    EXPECT_EQ(fires(acquires, rule::dirty_read, acquiring), 1U);
}

TEST(a_compiler_barrier, is_its_own_threads) {
    std::vector<std::byte> memory(4 * line_size);
    recorder r;
    r.start_behind(memory.data(), [](u64, u64) {});
    const auto store_by = [&](u8 thread, u64 at) {
        running_fiber = thread;
        r.writing(at, 8, ordering::plain, 1);
    };
    store_by(0, 0);
    running_fiber = 1;
    ++the_watch.barriers[1];
    store_by(0, 8);
    store_by(1, 64);
    running_fiber = 0;
    r.stop();
    ASSERT_EQ(r.events().size(), 3U);
    EXPECT_FALSE(r.events()[1].after_barrier);
    EXPECT_TRUE(r.events()[2].after_barrier);
}

// ------------------------------------------------------------------------ a structure that does it

constexpr u64 seeds = 60;

std::vector<lint_finding> lint_of(laboratory& lab, const target_description& d, u64 seed) {
    const auto t = lab.record(d, seed, loads::dirty);
    static source_places p;
    p.resolve(lab.recorded().trace);
    return lint(lab.recorded().trace, p, *d.rules);
}

/// In how many schedules the lint says so.
u64 schedules_with(laboratory& lab, rack_bug b, rule r) {
    u64 n = 0;
    for (u64 seed = 1; seed <= seeds; ++seed) {
        const auto all = lint_of(lab, rack_case(b), seed);
        n += std::any_of(all.begin(), all.end(),
                         [&](const lint_finding& f) { return f.broken == r; })
                 ? 1
                 : 0;
    }
    return n;
}

TEST(a_rack, that_returns_gives_back_or_publishes_early_is_told_in_every_schedule) {
    laboratory lab;
    EXPECT_EQ(schedules_with(lab, rack_bug::early_return, rule::returned_early), seeds);
    EXPECT_EQ(schedules_with(lab, rack_bug::early_unlock, rule::released_early), seeds);
    EXPECT_EQ(schedules_with(lab, rack_bug::early_publication, rule::published_early), seeds);
}

TEST(a_rack, without_a_bug_breaks_no_rule) {
    laboratory lab;
    for (u64 seed = 1; seed <= seeds; ++seed) {
        for (const lint_finding& f : lint_of(lab, rack_case(rack_bug::none), seed)) {
            // A reader flushes a word that may be durable.
            EXPECT_GT(f.broken, rule::dirty_read) << to_text({f});
        }
    }
}

std::optional<finding> explore(laboratory& lab, const target_description& d, u64 seed,
                               const limits& l, counts& counted) {
    return lab.round(d, l, counted, seed, persistence::pcso, {});
}

TEST(a_rack, that_returns_early_loses_what_was_returned) {
    laboratory lab;
    counts counted;
    const auto found = explore(lab, rack_case(rack_bug::early_return), 1, {}, counted);
    ASSERT_TRUE(found.has_value());
    const auto t = lab.record(rack_case(rack_bug::early_return), 1);
    EXPECT_EQ(lab.replay(*t, *found, persistence::pcso), found->what);
    EXPECT_NE(found->what.find("have returned do not allow"), std::string::npos) << found->what;
}

TEST(a_rack, without_a_bug_keeps_all_that_has_returned) {
    laboratory lab;
    counts counted;
    for (u64 seed = 1; seed <= 5; ++seed) {
        const auto found = explore(lab, rack_case(rack_bug::none), seed, {}, counted);
        EXPECT_FALSE(found.has_value()) << found->what;
    }
    for (u64 s = 0; s < 10 * seeds; ++s) {
        const auto found = explore(lab, rack_case(rack_bug::none), seed_of_schedule(1, s),
                                   limits_of_schedule(s), counted);
        EXPECT_FALSE(found.has_value()) << found->what;
    }
}

// No crash is needed, and no single schedule would do.
TEST(a_read_that_is_not_validated, is_found_by_many_schedules_and_told_with_its_operations) {
    laboratory lab;
    counts counted;
    const auto d = rack_case(rack_bug::unvalidated_read);
    std::optional<finding> found;
    u64 s = 0;
    for (; s < 10 * seeds && !found; ++s) {
        found = explore(lab, d, seed_of_schedule(1, s), limits_of_schedule(s), counted);
    }
    ASSERT_TRUE(found.has_value());
    std::printf("found in schedule %llu\n", static_cast<unsigned long long>(s));
    EXPECT_EQ(found->asked, probe::run) << found->what;
    const auto t = lab.record(d, seed_of_schedule(1, s - 1));
    std::vector<told_stage> stages;
    EXPECT_EQ(lab.replay(*t, *found, persistence::pcso,
                         [&](const auto& trace, const auto& before) {
                             stages.push_back({trace, before, found->stages.front()});
                         }),
              found->what);
    const std::string text = to_text(make_timeline("rack", *found, stages, {}, t.get()));
    EXPECT_NE(text.find("  read "), std::string::npos) << text;
    EXPECT_NE(text.find("what the run itself returned"), std::string::npos) << text;
}

TEST(a_campaign, gives_threads_many_schedules) {
    laboratory lab;
    const std::vector<target_description> all{rack_case(rack_bug::unvalidated_read)};
    campaign_options o;
    o.targets = {&all[0]};
    o.rounds = 1;
    const auto without = run_campaign(lab, o);
    EXPECT_EQ(without.at(0).counted.traces, 1U);
    o.schedules = 10 * seeds;
    const auto with = run_campaign(lab, o);
    EXPECT_TRUE(with.at(0).found.has_value());
    EXPECT_GE(with.at(0).seed_of_finding, seed_of_schedule(1, 0));
}

TEST(a_campaign, gives_a_target_that_lacks_a_point_whole_rounds_after_its_budget) {
    laboratory lab;
    std::vector<target_description> all{rack_case(rack_bug::none)};
    campaign_options o;
    o.targets = {&all[0]};
    o.budget_seconds = 0.001;
    const u64 rounds = run_campaign(lab, o).at(0).rounds;
    all[0].points.push_back("rack X9: a point that no run reaches");
    EXPECT_EQ(run_campaign(lab, o).at(0).rounds, rounds + 3);
}

// --------------------------------------------------------------------------------- several files

TEST(two_files, whose_count_comes_first_are_found_and_found_again) {
    laboratory lab;
    counts counted;
    const auto d = twins_case(twins_bug::count_first);
    const auto found = explore(lab, d, 1, {}, counted);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->what, "a number is counted that is not there");
    const auto t = lab.record(d, 1);
    EXPECT_EQ(lab.replay(*t, *found, persistence::pcso), found->what);
    const auto right = lab.record(twins_case(twins_bug::none), 1);
    EXPECT_EQ(lab.replay(*right, *found, persistence::pcso), std::nullopt);
}

TEST(two_files, in_the_right_order_survive_everything) {
    laboratory lab;
    counts counted;
    const auto found = explore(lab, twins_case(twins_bug::none), 1, {}, counted);
    EXPECT_FALSE(found.has_value()) << found->what;
    EXPECT_GT(counted.states, 100U);
}

TEST(several_files, have_lengths_names_and_syncs_of_their_own) {
    static const std::vector<std::byte> zeros(64 * line_size);
    crash_model m(zeros.data(), persistence::pcso, file_starts{});
    trace_maker t;
    t.length(100).length(200, 1).link(1).sync(1);
    for (const event& e : t.events) m.advance(e);
    EXPECT_EQ(m.length(0).sure, 0U);
    EXPECT_EQ(m.length(0).now, 100U);
    EXPECT_EQ(m.length(1).sure, 200U);
    EXPECT_EQ(m.name(1).now, 1U);
    EXPECT_EQ(m.name(1).sure, 0U);
    EXPECT_EQ(m.name(0).now, 0U);
}

}  // namespace
}  // namespace hf::lab
