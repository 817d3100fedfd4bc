// hf_crash: the crash lab's command line. See docs/crashlab.md.
#include "crashlab/command/campaign.hpp"
#include "crashlab/command/options.hpp"
#include "crashlab/command/telling.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

namespace hf::lab {
namespace {

outcome refuse(const std::string& why) {
    fmt::print(stderr, "hf_crash: {}\n", why);
    return outcome::bad_arguments;
}

outcome list() {
    for (const target_description& d : all_targets()) {
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
    return tell_campaign(run_campaign(lab, o), a);
}

outcome run(const arguments& a) {
    if (a.list) return list();
    const auto targets = a.chosen();
    if (targets.empty()) return refuse("there is no such target; --list shows all");
    if (a.seconds() < 0) return refuse("a budget is like 90s, 3m or 1h, not '" + a.budget + "'");
    if ((!a.trace.empty() || !a.replay.empty()) && targets.size() != 1) {
        return refuse("a trace or a replay is of one --target");
    }
    laboratory lab;
    if (a.lint) return tell_lint(lab, a);
    return a.replay.empty() ? run_all(lab, a) : tell_replay(lab, *targets.front(), a);
}

void add_options(CLI::App& app, arguments& a) {
    app.add_option("--target", a.targets, "Targets, separated by commas, or all")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--room", a.room, "Only targets of this room");
    app.add_option("--budget", a.budget, "Time for all of it: 90s, 3m, 1h");
    app.add_option("--rounds", a.rounds,
                   "Rounds of each target; a further one explores more (default 1 without a "
                   "budget)");
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
}  // namespace hf::lab

int main(int argc, char** argv) {
    hf::lab::arguments a;
    CLI::App app(
        "Explores what power cuts can leave of a region, and judges what recovery makes of "
        "it.",
        "hf_crash");
    app.footer(
        "Exit status: 0 nothing found, 1 a violation, 2 bad arguments, 4 a persist point missed.\n"
        "Examples:\n"
        "  hf_crash --budget 120s\n"
        "  hf_crash --target leaf.mixed,split.leaf --rounds 8 --seed 42");
    hf::lab::add_options(app, a);
    CLI11_PARSE(app, argc, argv);
    int status = 0;
    try {
        status = static_cast<int>(hf::lab::run(a));
    } catch (const std::exception& e) {
        fmt::print(stderr, "hf_crash: {}\n", e.what());
        status = static_cast<int>(hf::lab::outcome::violation);
    }
    std::fflush(stdout);
    ::_exit(status);  // what a run that was cut short held may be unfit to be destroyed
}
