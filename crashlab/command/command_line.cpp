// The command line of hf_crash and of users' programs. See docs/crashlab.md.
#include <holdfast/crashlab/main.hpp>

#include "crashlab/command/campaign.hpp"
#include "crashlab/command/options.hpp"
#include "crashlab/command/telling.hpp"
#include "crashlab/explore/guard.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>
#include <exception>

namespace hf::lab {
namespace {

outcome refuse(const arguments& a, const std::string& why) {
    fmt::print(stderr, "{}: {}\n", a.program, why);
    return outcome::bad_arguments;
}

outcome list(const arguments& a) {
    for (const target_description& d : a.all) {
        fmt::print("{:<18} {:<12} {}\n", d.name, d.room, d.what);
    }
    return outcome::clean;
}

outcome run_all(laboratory& lab, const arguments& a) {
    campaign_options o;
    o.targets = a.chosen();
    o.budget_seconds = a.seconds();
    o.rounds = a.rounds == 0 && a.budget.empty() ? 1 : a.rounds;
    o.seed = a.seed;
    o.mode = a.mode();
    o.trace = a.trace;
    o.live = ::isatty(2) != 0;
    o.schedules = a.schedules;
    return tell_campaign(run_campaign(lab, o), a);
}

outcome run(const arguments& a) {
    if (a.list) return list(a);
    const auto targets = a.chosen();
    if (targets.empty()) return refuse(a, "there is no such target; --list shows all");
    if (a.seconds() < 0) return refuse(a, "a budget is like 90s, 3m or 1h, not '" + a.budget + "'");
    if ((!a.trace.empty() || !a.replay.empty()) && targets.size() != 1) {
        return refuse(a, "a trace or a replay is of one --target");
    }
    laboratory lab;
    if (a.lint) return tell_lint(lab, a);
    return a.replay.empty() ? run_all(lab, a) : tell_replay(lab, *targets.front(), a);
}

void add_options(CLI::App& app, arguments& a) {
    app.add_option("--target", a.targets,
                   "Targets or rooms, separated by commas, or all; a* means all that begin so")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--room", a.room, "Only targets of this room");
    app.add_option("--budget", a.budget, "Time for all of it: 90s, 3m, 1h");
    app.add_option("--rounds", a.rounds,
                   "Rounds of each target; a further one explores more (default 1 without a "
                   "budget)");
    app.add_option("--schedules", a.schedules,
                   "Further schedules of each target with threads, a round, with few states each")
        ->capture_default_str();
    app.add_option("--seed", a.seed, "Seed of the first round")->capture_default_str();
    app.add_option("--model", a.model,
                   "pcso; flushed (nothing is written back unasked); eadr (caches survive)")
        ->check(CLI::IsMember({"pcso", "flushed", "eadr"}))
        ->capture_default_str();
    app.add_option("--replay", a.replay, "Repeat one run, as a finding prints it, and draw it");
    app.add_option("--svg", a.svg, "With --replay: file for the timeline");
    app.add_option("--trace", a.trace,
                   "Explore this trace of a release build instead of the lab's");
    app.add_option("--json", a.json, "File for all counts and findings; - for standard output");
    app.add_option("--html", a.html, "File for a page: mechanism, persist point, outcome");
    app.add_flag("--lint", a.lint, "Only look for missing and needless flushes and fences");
    app.add_flag("--list", a.list, "Name the targets");
    app.add_flag("--brief", a.brief, "With --replay: exit status only");
}

}  // namespace
int command_line(int argc, char** argv, std::vector<target_description> targets, const char* as) {
    arguments a;
    a.all = std::move(targets);
    a.program = as != nullptr ? as : argv[0];
    CLI::App app(
        "Explores what power cuts can leave of a region, and judges what recovery makes of "
        "it.",
        a.program);
    app.footer(fmt::format(
        "Exit status: 0 nothing found, 1 a violation, 2 bad arguments, 4 a persist point missed.\n"
        "Examples:\n"
        "  {0} --budget 120s\n"
        "  {0} --target {1} --rounds 8 --seed 42",
        a.program, a.all.empty() ? "all" : a.all.front().name));
    add_options(app, a);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : static_cast<int>(outcome::bad_arguments);
    }
    int status = 0;
    try {
        status = static_cast<int>(run(a));
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}: {}\n", a.program, e.what());
        status = static_cast<int>(outcome::violation);
    }
    std::fflush(stdout);
    // After an interrupted run, destructors may hang or crash.
    if (was_cut_short()) ::_exit(status);
    return status;
}

}  // namespace hf::lab
