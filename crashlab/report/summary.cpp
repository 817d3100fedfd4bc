#include "crashlab/report/summary.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <set>

namespace hf::lab {
namespace {

using nlohmann::ordered_json;

std::string processor() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);) {
        const auto colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    return "unknown";
}

ordered_json json_of(const target_summary& t) {
    ordered_json findings = ordered_json::array();
    for (const summary_finding& f : t.findings) {
        findings.push_back({{"what", f.what}, {"replay", f.replay}, {"point", f.point}});
    }
    return {{"name", t.name},
            {"room", t.room},
            {"what", t.what},
            {"rounds", t.rounds},
            {"traces", t.traces},
            {"events", t.events},
            {"crash_points", t.crash_points},
            {"openings", t.openings},
            {"states", t.states},
            {"images", t.images},
            {"nested_traces", t.nested_traces},
            {"incomplete", t.incomplete},
            {"seconds", t.seconds},
            {"states_per_second", t.states_per_second()},
            {"points_reached", t.reached},
            {"points_not_reached", t.not_reached},
            {"findings", findings}};
}

ordered_json json_of(const campaign_totals& t) {
    return {{"events", t.events},
            {"crash_points", t.crash_points},
            {"openings", t.openings},
            {"states", t.states},
            {"images", t.images},
            {"nested_traces", t.nested_traces},
            {"seconds", t.seconds},
            {"findings", t.findings},
            {"points_reached", t.points_reached},
            {"points_missed", t.points_missed}};
}

ordered_json json_of(const campaign_environment& e) {
    return {{"compiler", e.compiler}, {"processor", e.processor}, {"build", e.build},
            {"seed", e.seed},         {"budget", e.budget},       {"model", e.model},
            {"date", e.date}};
}

std::string row(const target_summary& t) {
    return fmt::format("{:<18} {:>6} {:>9} {:>8} {:>9} {:>12} {:>11} {:>7} {:>7.1f} {:>9.0f}  {}\n",
                       t.name, t.rounds, t.events, t.crash_points, t.openings, t.states, t.images,
                       t.nested_traces, t.seconds, t.states_per_second(),
                       t.findings.empty() ? "-" : "VIOLATION");
}

}  // namespace

campaign_environment this_environment() {
    campaign_environment e;
    e.compiler = __VERSION__;
    e.processor = processor();
#ifdef NDEBUG
    e.build = "instrumented, without assertions";
#else
    e.build = "instrumented, with assertions";
#endif
    e.date = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)));
    return e;
}

target_summary target_summary_of(const target_description& d, const counts& c, u64 rounds,
                                 double seconds) {
    target_summary t;
    t.name = d.name;
    t.room = d.room;
    t.what = d.what;
    t.rounds = rounds;
    t.traces = c.traces;
    t.events = c.events;
    t.crash_points = c.crash_points;
    t.openings = c.openings;
    t.states = c.states;
    t.images = c.images.size();
    t.nested_traces = c.nested_traces;
    t.incomplete = c.incomplete;
    t.seconds = seconds;
    for (const u64 p : c.points) t.reached.push_back(recorder::points().at(p));
    for (const std::string_view p : d.points) {
        if (std::find(t.reached.begin(), t.reached.end(), p) == t.reached.end()) {
            t.not_reached.emplace_back(p);
        }
    }
    return t;
}

std::string point_of(const finding& f, const std::vector<event>& trace) {
    if (f.stages.empty() || f.stages.front().event >= trace.size()) return "";
    const event& e = trace[f.stages.front().event];
    const auto& names = recorder::points();
    const bool is_point = e.kind == event_kind::point && e.value < names.size();
    return is_point ? names[e.value] : "";
}

campaign_totals campaign_report::totals() const {
    campaign_totals all;
    std::set<std::string> reached;
    for (const target_summary& t : targets) {
        all.events += t.events;
        all.crash_points += t.crash_points;
        all.openings += t.openings;
        all.states += t.states;
        all.images += t.images;
        all.nested_traces += t.nested_traces;
        all.seconds += t.seconds;
        all.findings += t.findings.size();
        reached.insert(t.reached.begin(), t.reached.end());
    }
    std::set<std::string> missed;
    for (const target_summary& t : targets) {
        for (const auto& p : t.not_reached) {
            if (!reached.contains(p)) missed.insert(p);
        }
    }
    all.points_reached = reached.size();
    all.points_missed.assign(missed.begin(), missed.end());
    return all;
}

std::string to_json(const campaign_report& r) {
    ordered_json targets = ordered_json::array();
    for (const target_summary& t : r.targets) targets.push_back(json_of(t));
    const ordered_json all{{"environment", json_of(r.environment)},
                           {"totals", json_of(r.totals())},
                           {"targets", targets}};
    // Messages of a recovery may contain arbitrary bytes.
    return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const campaign_report& r) {
    std::string text = fmt::format(
        "{:<18} {:>6} {:>9} {:>8} {:>9} {:>12} {:>11} {:>7} {:>7} {:>9}  {}\n", "target", "rounds",
        "events", "crashes", "openings", "states", "images", "nested", "s", "states/s", "found");
    for (const target_summary& t : r.targets) text += row(t);
    const campaign_totals all = r.totals();
    for (const target_summary& t : r.targets) {
        for (const summary_finding& f : t.findings) {
            text += fmt::format("\n{}: {}\n  {}\n", t.name, f.what, f.replay);
        }
    }
    text += fmt::format(
        "\nseed {}, model {}: {} states, {} different images, {} persist points reached, {} "
        "missed, {} violations\n",
        r.environment.seed, r.environment.model, all.states, all.images, all.points_reached,
        all.points_missed.size(), all.findings);
    for (const auto& p : all.points_missed) text += fmt::format("  not reached: {}\n", p);
    return text;
}

}  // namespace hf::lab
