// mutate/hunt.cpp: runs the lab on the mutant that HF_MUTANT names.
//
//   hf_hunt [--first TARGET SEED PASS] SECONDS SEED TARGET...
//
// It begins with the arguments of --first, if given, for at most half of the time. Then every
// target is explored in turn, first with small limits, so that each crash point is covered, then
// with larger ones and further seeds, until something is found (exit status 1) or the time is over
// (0). Each line of output says what is running, so that the caller knows it if the process dies.
#include "base/clock.hpp"
#include "crashlab/command/campaign.hpp"
#include "crashlab/laboratory.hpp"
#include "mutant.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

hf::lab::limits limits_of_pass(unsigned pass) {
    // Many mutants need the right workload, not a deep search: so the first passes are shallow.
    constexpr hf::lab::limits shallow{
        .openings = 6, .states = 24, .random_states = 8, .whole = 4, .nested = 0, .depth = 0};
    // For effects that only a killed process shows: few states, but at each crash point.
    constexpr hf::lab::limits killing{.openings = 1,
                                      .states = 1,
                                      .random_states = 0,
                                      .whole = 0,
                                      .nested = 0,
                                      .kills = 1,
                                      .depth = 1,
                                      .nested_points = 12,
                                      .points = 4};
    constexpr hf::lab::limits passes[] = {
        shallow,
        killing,
        {.openings = 6,
         .states = 16,
         .random_states = 4,
         .whole = 2,
         .nested = 1,
         .depth = 1,
         .nested_points = 6},
        {.openings = 2, .states = 4, .random_states = 2, .whole = 60, .nested = 0, .depth = 0},
        killing,
        {.openings = 16,
         .states = 100,
         .random_states = 40,
         .whole = 3,
         .nested = 1,
         .depth = 1,
         .nested_points = 12},
        {.openings = 24,
         .states = 200,
         .random_states = 80,
         .whole = 6,
         .nested = 1,
         .depth = 2,
         .nested_points = 6},
    };
    return passes[pass % std::size(passes)];
}

const hf::lab::target_description* target_called(const std::string& name) {
    for (const auto& d : hf::lab::all_targets()) {
        if (d.name == name) return &d;
    }
    return nullptr;
}

}  // namespace

namespace {

using hf::u64;

struct step {
    std::string target;
    u64 seed;
    unsigned pass;
};

// The explorer limits recoveries; a workload must be limited separately.
constexpr unsigned most_seconds_of_workload = 15;
// Per step of a target with threads: many cheap schedules first; then some that explore each crash
// point briefly.
constexpr u64 schedules = 60;
constexpr u64 cheap_schedules = 45;
constexpr hf::lab::limits all_points{
    .openings = 24, .states = 24, .random_states = 8, .whole = 2, .nested = 0, .depth = 0};

void on_alarm(int) {
    constexpr std::string_view text = "found 15 s the workload does not end\n";
    [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
    ::_exit(1);
}

/// Runs one workload and explores it for `length`; with threads three times as long, including
/// schedules. Returns whether something was found.
bool hunt(hf::lab::laboratory& lab, const step& s, u64 begin, u64 length, u64 end) {
    const auto seconds = [&] { return static_cast<double>(hf::now_ns() - begin) * 1e-9; };
    std::printf("at %s seed %lu pass %u, %.2f s\n", s.target.c_str(), s.seed, s.pass, seconds());
    std::fflush(stdout);
    std::string what;
    try {
        hf::lab::counts counted;
        const auto& target = *target_called(s.target);
        // The time starts at the first check, after the workload, which has its own limit.
        u64 stop = 0;
        bool is_running = false;
        const auto is_over = [&] {
            if (std::exchange(is_running, false)) ::alarm(0);
            if (stop == 0) stop = std::min(end, hf::now_ns() + length);
            return hf::now_ns() > stop;
        };
        const auto look = [&](const hf::lab::limits& most, u64 seed) {
            is_running = true;
            ::alarm(most_seconds_of_workload);
            return lab.round(target, most, counted, seed, hf::lab::persistence::pcso, is_over);
        };
        std::optional<hf::lab::finding> f;
        const auto look_at_schedules = [&](u64 from, u64 to) {
            stop = 0;
            for (u64 n = from; target.has_threads && n < to && !f && !is_over(); ++n) {
                f = look(n < cheap_schedules ? hf::lab::limits_of_schedule(n % 8 == 7 ? 1 : 0)
                                             : all_points,
                         hf::lab::seed_of_schedule(s.seed, n));
            }
        };
        look_at_schedules(0, cheap_schedules);
        stop = 0;
        if (!f) f = look(limits_of_pass(s.pass), s.seed);
        look_at_schedules(cheap_schedules, schedules);
        ::alarm(0);
        if (!f) return false;
        what = f->what;
    } catch (const std::exception& e) {
        what = e.what();
    }
    std::replace(what.begin(), what.end(), '\n', ' ');
    std::printf("found %.2f s %s\n", seconds(), what.c_str());
    return true;
}

/// Exits if there is no such target.
std::string checked_target(const char* name) {
    if (target_called(name) != nullptr) return name;
    std::fprintf(stderr, "hf_hunt: there is no target %s\n", name);
    std::exit(2);
}

int list() {
    for (const auto& d : hf::lab::all_targets()) {
        std::printf("%s %s\n", std::string(d.room).c_str(), std::string(d.name).c_str());
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string(argv[1]) == "--list") return list();
    std::optional<step> first;
    if (argc > 4 && std::string(argv[1]) == "--first") {
        first = {checked_target(argv[2]), std::strtoull(argv[3], nullptr, 10),
                 static_cast<unsigned>(std::atoi(argv[4]))};
        argc -= 4;
        argv += 4;
    }
    if (argc < 4) {
        std::fprintf(stderr,
                     "usage: hf_hunt [--first TARGET SEED PASS] SECONDS SEED TARGET... | "
                     "hf_hunt --list\n");
        return 2;
    }
    const std::vector<const char*> names(argv + 3, argv + argc);
    for (const auto* name : names) checked_target(name);
    const auto begin = hf::now_ns();
    const auto length = static_cast<u64>(std::atof(argv[1]) * 1e9);
    const u64 end = begin + length;
    const u64 first_seed = std::strtoull(argv[2], nullptr, 10);
    std::signal(SIGALRM, on_alarm);
    hf::lab::laboratory lab;
    if (first && hunt(lab, *first, begin, length / 2, end)) return 1;
    for (unsigned pass = 0; hf::now_ns() < end; ++pass) {
        for (const auto* name : names) {
            if (hf::now_ns() >= end) break;
            // Limits each target, so that all get their turn.
            const u64 slice = std::max<u64>(length / 80, 250'000'000);
            if (hunt(lab, {name, first_seed + pass, pass}, begin, slice, end)) return 1;
        }
    }
    std::printf("nothing %.2f s\n", static_cast<double>(hf::now_ns() - begin) * 1e-9);
    return 0;
}
