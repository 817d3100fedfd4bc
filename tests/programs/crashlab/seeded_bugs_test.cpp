// Mistakes that the lab must find, each seeded into the same small structure.
#include "base/clock.hpp"
#include "crashlab/laboratory.hpp"
#include "crashlab/report/timeline.hpp"
#include "crashlab/seeded/board_target.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>

namespace hf::lab::seeded {
static void PrintTo(bug b, std::ostream* out) { *out << to_string(b); }  // the name is gtest's
}  // namespace hf::lab::seeded

namespace hf::lab {
namespace {

using seeded::board_case;
using seeded::bug;

/// The maximum number of states before a mistake is found.
constexpr u64 most_states = 10'000;

/// So many that nothing here is drawn at random instead of walked through.
limits exhaustive() {
    limits l;
    l.openings = 1'000'000;
    l.states = 1'000'000;
    l.nested = 2;
    l.nested_points = 1000;
    return l;
}

struct outcome {
    std::optional<finding> found;
    counts counted;
    double seconds = 0;
};

outcome explore(laboratory& lab, target& t, u64 seed, persistence mode = persistence::pcso) {
    outcome o;
    const u64 start = now_ns();
    limits l = exhaustive();
    if (mode == persistence::eadr) {  // where every store is a crash point
        l.depth = 1;
        l.nested_points = 20;
    }
    o.found = lab.explore(t, l, o.counted, seed, mode, {});
    o.seconds = static_cast<double>(now_ns() - start) * 1e-9;
    return o;
}

void print(std::string_view name, u64 seed, const outcome& o) {
    std::printf("%-20s seed %llu: %8llu states, %6.3f s: %s\n", std::string(name).c_str(),
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(o.counted.states), o.seconds,
                o.found ? o.found->what.c_str() : "nothing found");
}

std::string timeline_of(const finding& f, const std::vector<told_stage>& stages) {
    source_places places;
    for (const told_stage& s : stages) places.resolve(s.trace);
    return to_text(make_timeline("seeded bug", f, stages, places));
}

class seeded_bugs : public testing::TestWithParam<bug> {};

TEST_P(seeded_bugs, is_found_and_found_again_by_replay) {
    laboratory lab;
    for (u64 seed = 1; seed <= 3; ++seed) {
        const auto wrong = lab.record(board_case(GetParam()), seed);
        const outcome o = explore(lab, *wrong, seed);
        print(seeded::to_string(GetParam()), seed, o);
        ASSERT_TRUE(o.found.has_value());
        EXPECT_LT(o.counted.states, most_states);
        std::vector<told_stage> stages;
        EXPECT_EQ(lab.replay(*wrong, *o.found, persistence::pcso,
                             [&](const auto& trace, const auto& before) {
                                 stages.push_back({trace, before, o.found->stages[stages.size()]});
                             }),
                  o.found->what);
        if (seed == 1) std::fputs(timeline_of(*o.found, stages).c_str(), stdout);

        const auto right = lab.record(board_case(bug::none), seed);
        EXPECT_EQ(lab.replay(*right, *o.found, persistence::pcso), std::nullopt);
    }
}

INSTANTIATE_TEST_SUITE_P(all, seeded_bugs,
                         testing::Values(bug::log_after_field, bug::missing_flush,
                                         bug::missing_fence, bug::log_elsewhere,
                                         bug::epoch_before_flush, bug::early_announcement,
                                         bug::early_reuse, bug::plain_stores),
                         [](const auto& p) { return std::string(seeded::to_string(p.param)); });

TEST(seeded_board, without_a_bug_has_no_violation_in_any_state) {
    laboratory lab;
    for (u64 seed = 1; seed <= 3; ++seed) {
        const auto t = lab.record(board_case(bug::none), seed);
        const outcome o = explore(lab, *t, seed);
        print("none", seed, o);
        EXPECT_FALSE(o.found.has_value()) << o.found->what;
        EXPECT_EQ(o.counted.incomplete, 0U);
        EXPECT_GT(o.counted.nested_traces, 0U);
    }
}

TEST(seeded_board, caches_that_survive_forgive_flushes_and_nothing_else) {
    laboratory lab;
    const auto is_found = [&](bug b) {
        const auto t = lab.record(board_case(b), 1);
        const outcome o = explore(lab, *t, 1, persistence::eadr);
        print(std::string(seeded::to_string(b)) + " (eADR)", 1, o);
        return o.found.has_value();
    };
    for (const bug b : {bug::none, bug::missing_flush, bug::missing_fence}) {
        EXPECT_FALSE(is_found(b));
    }
    EXPECT_TRUE(is_found(bug::early_reuse));
    EXPECT_TRUE(is_found(bug::log_after_field));
}

}  // namespace
}  // namespace hf::lab
