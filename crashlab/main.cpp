// hf_crash: the crash lab's command line. See docs/crashlab.md.
#include "crashlab/command/campaign.hpp"
#include "crashlab/command/minimise.hpp"
#include "crashlab/command/replay_token.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <set>

namespace hf::lab {
namespace {

struct arguments {
    std::vector<std::string> targets{"all"};
    std::string room;
    std::string budget;
    u64 rounds = 0;
    u64 seed = 1;
    std::string model = "pcso";
    std::string replay;
    std::string trace;
    bool list = false;
    bool brief = false;
};

constexpr int nothing_found = 0;
constexpr int found_something = 1;
constexpr int bad_arguments = 2;
constexpr int points_missed = 4;

const std::map<std::string, persistence> models{
    {"pcso", persistence::pcso}, {"flushed", persistence::flushed}, {"eadr", persistence::eadr}};

/// Seconds of "90", "90s", "3m" or "1h"; negative: none of these.
double seconds_of(const std::string& text) {
    if (text.empty()) return 0;
    char* end = nullptr;
    const double n = std::strtod(text.c_str(), &end);
    const std::string unit = end;
    if (end == text.c_str() || n <= 0) return -1;
    if (unit.empty() || unit == "s") return n;
    if (unit == "m") return n * 60;
    if (unit == "h") return n * 3600;
    return -1;
}

std::vector<const target_description*> chosen(const arguments& a) {
    std::vector<const target_description*> found;
    for (const target_description& d : all_targets()) {
        const bool named = std::find(a.targets.begin(), a.targets.end(), d.name) != a.targets.end();
        const bool all = std::find(a.targets.begin(), a.targets.end(), "all") != a.targets.end();
        if ((named || all) && (a.room.empty() || a.room == d.room)) found.push_back(&d);
    }
    return found;
}

void list() {
    for (const target_description& d : all_targets()) {
        fmt::print("{:<18} {:<12} {}\n", d.name, d.room, d.what);
    }
}

std::string replay_line(const target_result& r, const arguments& a, const finding& f) {
    return fmt::format("./dev crash --target {} --seed {}{} --replay '{}'", r.target->name,
                       r.seed_of_finding, a.model == "pcso" ? "" : " --model " + a.model,
                       token_of(f));
}

void report_finding(const target_result& r, const arguments& a) {
    fmt::print("\n{}: {}\n", r.target->name, r.found->what);
    const std::string name(r.target->name);
    const auto smallest = minimised(*r.found, [&](const finding& f) {
        return is_wrong_in_child(name, r.seed_of_finding, a.model, f);
    });
    fmt::print("  {}\n", replay_line(r, a, smallest));
}

void print_row(const target_result& r) {
    const counts& c = r.counted;
    fmt::print("{:<18} {:>6} {:>9} {:>8} {:>9} {:>12} {:>11} {:>7} {:>7.1f} {:>9.0f}  {}\n",
               r.target->name, r.rounds, c.events, c.crash_points, c.openings, c.states,
               c.images.size(), c.nested_traces, r.seconds,
               r.seconds > 0 ? static_cast<double>(c.states) / r.seconds : 0.0,
               r.found ? "VIOLATION" : "-");
}

int report(const std::vector<target_result>& results, const arguments& a) {
    fmt::print("{:<18} {:>6} {:>9} {:>8} {:>9} {:>12} {:>11} {:>7} {:>7} {:>9}  {}\n", "target",
               "rounds", "events", "crashes", "openings", "states", "images", "nested", "s",
               "states/s", "found");
    u64 states = 0;
    u64 images = 0;
    u64 violations = 0;
    std::set<std::string> reached;
    std::set<std::string> missing;
    for (const target_result& r : results) {
        print_row(r);
        states += r.counted.states;
        images += r.counted.images.size();
        violations += r.found ? 1 : 0;
        for (auto& p : r.points()) reached.insert(p);
    }
    for (const target_result& r : results) {
        for (auto& p : r.missing()) {
            if (!reached.contains(p)) missing.insert(p);
        }
        if (r.found) report_finding(r, a);
    }
    fmt::print(
        "\nseed {}, model {}: {} states, {} different images, {} persist points reached, "
        "{} missed, {} violations\n",
        a.seed, a.model, states, images, reached.size(), missing.size(), violations);
    for (const auto& p : missing) fmt::print("  not reached: {}\n", p);
    if (violations != 0) return found_something;
    return missing.empty() ? nothing_found : points_missed;
}

int replay(laboratory& lab, const target_description& d, const arguments& a) {
    const auto f = parse_token(a.replay);
    if (!f) {
        fmt::print(stderr, "hf_crash: '{}' is no replay token\n", a.replay);
        return bad_arguments;
    }
    const auto t = lab.record(d, a.seed);
    const auto wrong = lab.replay(*t, *f, models.at(a.model));
    if (!wrong) {
        fmt::print("{}: nothing is wrong with it\n", d.name);
        return nothing_found;
    }
    if (!a.brief) fmt::print("{}: {}\n", d.name, *wrong);
    std::fflush(stdout);
    ::_exit(found_something);  // what the run held may be unfit to be destroyed
}

int run(const arguments& a) {
    if (a.list) {
        list();
        return nothing_found;
    }
    const auto targets = chosen(a);
    const double budget = seconds_of(a.budget);
    if (targets.empty() || budget < 0) {
        fmt::print(stderr, "hf_crash: {}\n",
                   targets.empty() ? "there is no such target; --list shows all"
                                   : "a budget is like 90s, 3m or 1h, not '" + a.budget + "'");
        return bad_arguments;
    }
    if (!a.trace.empty() && targets.size() != 1) {
        fmt::print(stderr, "hf_crash: a trace is of one target\n");
        return bad_arguments;
    }
    laboratory lab;
    if (!a.replay.empty()) return replay(lab, *targets.front(), a);
    campaign_options o;
    o.targets = targets;
    o.rounds = a.rounds == 0 && budget == 0 ? 1 : a.rounds;
    o.budget_seconds = budget;
    o.seed = a.seed;
    o.mode = models.at(a.model);
    o.live = ::isatty(2) != 0;
    o.trace = a.trace;
    const int status = report(run_campaign(lab, o), a);
    std::fflush(stdout);
    ::_exit(status);
}

}  // namespace
}  // namespace hf::lab

int main(int argc, char** argv) {
    hf::lab::arguments a;
    CLI::App app(
        "Explores what power cuts can leave of a region, and judges what recovery makes of it.\n"
        "Exit status: 0 nothing found, 1 a violation, 2 bad arguments, 4 a persist point missed.",
        "hf_crash");
    app.add_option("--target", a.targets, "Targets, separated by commas, or all")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--room", a.room, "Only targets of this room");
    app.add_option("--budget", a.budget, "Time for all of it: 90s, 3m, 1h");
    app.add_option("--rounds", a.rounds, "Rounds of each target (default 1 without a budget)");
    app.add_option("--seed", a.seed, "Seed of the first round")->capture_default_str();
    app.add_option("--model", a.model, "pcso; flushed (nothing is written back unasked); eadr")
        ->check(CLI::IsMember({"pcso", "flushed", "eadr"}))
        ->capture_default_str();
    app.add_option("--replay", a.replay, "Repeat one run, as a finding prints it");
    app.add_option("--trace", a.trace,
                   "Explore this trace of a release build (./dev crash-release)");
    app.add_flag("--list", a.list, "Name the targets");
    app.add_flag("--brief", a.brief, "With --replay: exit status only");
    CLI11_PARSE(app, argc, argv);
    return hf::lab::run(a);
}
