// A campaign's report as an HTML page.
#include "crashlab/report/markup.hpp"
#include "crashlab/report/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace hf::lab {
namespace {

using detail::escaped;

constexpr std::string_view head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Crash lab</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { --ink: #1f2430; --dim: #667085; --line: #d5d9e2; --good: #d6efdc; --bad: #d02020; }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); margin: 2rem auto;
       max-width: 1200px; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th, td { border: 1px solid var(--line); padding: 3px 7px; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
th.point { font-weight: normal; min-width: 32px; text-align: center; }
tr.room th { background: #f2f4f8; }
td.o { text-align: center; }
td.o, th.point { padding: 3px 0; }
ul { padding-left: 1.2rem; }
td.reached { background: var(--good); }
td.violation { background: var(--bad); color: #fff; font-weight: bold; }
td.missed { background: #fff1cc; }
td.none { color: var(--line); }
.bad { color: var(--bad); } .dim { color: var(--dim); }
code { font: 12px ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
ol { padding-left: 2.2rem; font-size: 13px; }
</style></head><body>
)";

std::vector<std::string> points_of(const campaign_report& r) {
    std::set<std::string> all;
    for (const target_summary& t : r.targets) {
        all.insert(t.reached.begin(), t.reached.end());
        all.insert(t.not_reached.begin(), t.not_reached.end());
    }
    return {all.begin(), all.end()};
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

std::string cell(std::string_view kind, std::string_view sign, std::string_view tip) {
    return fmt::format("<td class=\"o {}\" title=\"{}\">{}</td>", kind, escaped(tip), sign);
}

std::string cell_of(const target_summary& t, const std::string& point) {
    const bool violated = std::any_of(t.findings.begin(), t.findings.end(),
                                      [&](const summary_finding& f) { return f.point == point; });
    if (violated) return cell("violation", "✗", t.name + ", violation: " + point);
    if (contains(t.reached, point)) return cell("reached", "✓", t.name + ", clean: " + point);
    if (contains(t.not_reached, point)) {
        return cell("missed", "!", t.name + ", required and not reached: " + point);
    }
    return cell("none", "·", t.name + ", not reached: " + point);
}

/// The column for crashes that are not at a persist point.
std::string cell_between(const target_summary& t) {
    const bool violated = std::any_of(t.findings.begin(), t.findings.end(),
                                      [](const summary_finding& f) { return f.point.empty(); });
    if (violated) return cell("violation", "✗", t.name + ", violation between persist points");
    if (t.crash_points == 0) return cell("none", "·", t.name + ", not explored");
    return cell("reached", "✓", t.name + ", clean between persist points");
}

std::map<std::string, std::vector<const target_summary*>> by_room(const campaign_report& r) {
    std::map<std::string, std::vector<const target_summary*>> rooms;
    for (const target_summary& t : r.targets) rooms[t.room].push_back(&t);
    return rooms;
}

std::string matrix(const campaign_report& r) {
    const auto points = points_of(r);
    std::string html =
        "<h2>Mechanism × persist point</h2>\n<div class=\"scroll\"><table>\n"
        "<tr><th>target</th><th class=\"point\" title=\"fences, announcements, the "
        "end\">else</th>";
    for (std::size_t i = 0; i < points.size(); ++i) {
        html += fmt::format("<th class=\"point\" title=\"{}\">{}</th>", escaped(points[i]), i + 1);
    }
    html += "</tr>\n";
    for (const auto& [room, targets] : by_room(r)) {
        html += fmt::format("<tr class=\"room\"><th colspan=\"{}\">{}</th></tr>\n",
                            points.size() + 2, escaped(room));
        for (const target_summary* t : targets) {
            html += fmt::format("<tr><td title=\"{}\">{}</td>", escaped(t->what), escaped(t->name));
            html += cell_between(*t);
            for (const auto& p : points) html += cell_of(*t, p);
            html += "</tr>\n";
        }
    }
    html +=
        "</table></div>\n<p class=\"dim\">✓ crashed there, clean · ✗ violation · ! required "
        "and not reached · “·” not reached</p>\n<ol>\n";
    for (const auto& p : points) html += fmt::format("<li>{}</li>\n", escaped(p));
    return html + "</ol>\n";
}

std::string findings(const campaign_report& r) {
    std::string html = "<h2>Violations</h2>\n";
    bool any = false;
    for (const target_summary& t : r.targets) {
        for (const summary_finding& f : t.findings) {
            any = true;
            html += fmt::format("<p class=\"bad\"><b>{}</b>: {}</p>\n<p>{}<code>{}</code></p>\n",
                                escaped(t.name), escaped(f.what),
                                f.point.empty() ? "" : "at “" + escaped(f.point) + "”; ",
                                escaped(f.replay));
        }
    }
    return html + (any ? "" : "<p>None.</p>\n");
}

std::string targets_table(const campaign_report& r) {
    std::string html = "<h2>Targets</h2>\n<div class=\"scroll\"><table>\n<tr>";
    for (const std::string_view name :
         {"target", "room", "rounds", "events", "crash points", "openings", "states",
          "different images", "nested traces", "drawn at random", "seconds", "states/s", "found"}) {
        html += fmt::format("<th>{}</th>", name);
    }
    html += "</tr>\n";
    for (const target_summary& t : r.targets) {
        html += fmt::format("<tr><td title=\"{}\">{}</td><td>{}</td>", escaped(t.what),
                            escaped(t.name), escaped(t.room));
        for (const u64 n : {t.rounds, t.events, t.crash_points, t.openings, t.states, t.images,
                            t.nested_traces, t.incomplete}) {
            html += fmt::format("<td class=\"n\">{}</td>", n);
        }
        html += fmt::format(
            "<td class=\"n\">{:.1f}</td><td class=\"n\">{:.0f}</td><td>{}</td></tr>\n", t.seconds,
            t.states_per_second(), t.findings.empty() ? "–" : "<b class=\"bad\">violation</b>");
    }
    return html + "</table></div>\n";
}

std::string environment(const campaign_environment& e) {
    std::string html = "<h2>Environment</h2>\n<table>\n";
    const std::vector<std::pair<std::string_view, std::string>> all{
        {"date", e.date}, {"compiler", e.compiler}, {"processor", e.processor}, {"build", e.build},
        {"seed", e.seed}, {"budget", e.budget},     {"model", e.model}};
    for (const auto& [name, value] : all) {
        if (value.empty()) continue;
        html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", name, escaped(value));
    }
    return html + "</table>\n";
}

std::string totals(const campaign_totals& t) {
    std::string html = fmt::format(
        "<p><b class=\"{}\">{} violations</b> in {} states ({} different images) behind {} crash "
        "points of {} events; {} crashes during recovery recorded and explored; {:.1f} s. {} "
        "persist points reached, {} missed.</p>\n",
        t.findings == 0 ? "" : "bad", t.findings, t.states, t.images, t.crash_points, t.events,
        t.nested_traces, t.seconds, t.points_reached, t.points_missed.size());
    if (t.points_missed.empty()) return html;
    html += "<ul class=\"bad\">\n";
    for (const auto& p : t.points_missed) {
        html += fmt::format("<li>not reached: {}</li>\n", escaped(p));
    }
    return html + "</ul>\n";
}

}  // namespace

std::string to_html(const campaign_report& r) {
    return std::string(head) + "<h1>Crash lab</h1>\n" + totals(r.totals()) + findings(r) +
           matrix(r) + targets_table(r) + environment(r.environment) + "</body></html>\n";
}

}  // namespace hf::lab
