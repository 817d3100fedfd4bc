#include "crashlab/command/telling.hpp"

#include "crashlab/command/minimise.hpp"
#include "crashlab/command/replay_token.hpp"
#include "crashlab/lint/lint.hpp"
#include "crashlab/report/disk_timeline.hpp"
#include "crashlab/report/summary.hpp"
#include "crashlab/report/timeline.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

namespace hf::lab {
namespace {

std::string replay_line(const target_result& r, const arguments& a, const finding& f) {
    return fmt::format("{} --target {} --seed {}{}{} --replay '{}'", a.program, r.target->name,
                       r.seed_of_finding, a.model == "pcso" ? "" : " --model " + a.model,
                       a.trace.empty() ? "" : " --trace " + a.trace, token_of(f));
}

bool write_file(const arguments& a, const std::string& path, const std::string& text) {
    if (path.empty()) return true;
    std::ofstream out(path, std::ios::trunc);
    out << text;
    out.close();
    if (!out) fmt::print(stderr, "{}: {} could not be written\n", a.program, path);
    return static_cast<bool>(out);
}

summary_finding summary_of(const target_result& r, const arguments& a) {
    finding f = *r.found;
    if (a.trace.empty() && r.target->disk == nullptr) {
        const std::string name(r.target->name);
        f = minimised(f, [&](const finding& smaller) {
            return is_wrong_in_child(name, r.seed_of_finding, a.model, smaller);
        });
    }
    return {f.what, replay_line(r, a, f), r.point_of_finding};
}

campaign_report report_of(const std::vector<target_result>& results, const arguments& a) {
    campaign_report report;
    report.environment = this_environment();
    report.environment.seed = std::to_string(a.seed);
    report.environment.budget = a.budget;
    report.environment.model = a.model;
    for (const target_result& r : results) {
        auto t = target_summary_of(*r.target, r.counted, r.rounds, r.seconds);
        if (r.found) t.findings.push_back(summary_of(r, a));
        report.targets.push_back(std::move(t));
    }
    return report;
}

}  // namespace

outcome tell_campaign(const std::vector<target_result>& results, const arguments& a) {
    const campaign_report report = report_of(results, a);
    const std::string text = a.json == "-" ? to_json(report) + "\n" : to_text(report);
    fmt::print("{}", text);
    bool written = a.json == "-" || write_file(a, a.json, to_json(report) + "\n");
    written = write_file(a, a.html, to_html(report)) && written;
    const campaign_totals all = report.totals();
    if (all.findings != 0) return outcome::violation;
    if (!written) return outcome::bad_arguments;
    return all.points_missed.empty() ? outcome::clean : outcome::points_missed;
}

namespace {

outcome tell_disk_replay(std::string_view name, const disk_target& d, const finding& f,
                         const arguments& a) {
    const u32 calls = f.stages.empty() ? 0 : f.stages.front().event;
    disk_story story;
    const auto wrong = d.replay(a.seed, calls, f.question, &story);
    if (!a.brief) {
        story.title = fmt::format("{}, seed {}, power cut at call {} of the disks, draw {}", name,
                                  a.seed, calls, f.question);
        story.what = wrong.value_or("");
        fmt::print("{}", to_text(story));
        if (!write_file(a, a.svg, to_svg(story))) return outcome::bad_arguments;
    }
    return wrong ? outcome::violation : outcome::clean;
}

}  // namespace

outcome tell_replay(laboratory& lab, const target_description& d, const arguments& a) {
    auto f = parse_token(a.replay);
    if (!f) {
        fmt::print(stderr, "{}: '{}' is no replay token\n", a.program, a.replay);
        return outcome::bad_arguments;
    }
    if (d.disk != nullptr) return tell_disk_replay(d.name, *d.disk, *f, a);
    const auto t = lab.record(d, a.seed);
    if (!a.trace.empty() && !lab.adopt_trace(a.trace)) {
        fmt::print(stderr, "{}: {} is no trace, or a broken one\n", a.program, a.trace);
        return outcome::bad_arguments;
    }
    std::vector<told_stage> stages;
    const auto wrong = lab.replay(*t, *f, a.mode(), [&](const auto& trace, const auto& before) {
        if (!a.brief) stages.push_back({trace, before, f->stages[stages.size()]});
    });
    if (a.brief) return wrong ? outcome::violation : outcome::clean;
    f->what = wrong.value_or("");
    source_places places;
    // The addresses in a release build's trace belong to another program.
    for (const told_stage& s : stages) {
        if (a.trace.empty()) places.resolve(s.trace);
    }
    const auto drawn =
        make_timeline(fmt::format("{}, seed {}", d.name, a.seed), *f, stages, places, t.get());
    fmt::print("{}", to_text(drawn));
    if (!write_file(a, a.svg, to_svg(drawn))) return outcome::bad_arguments;
    return wrong ? outcome::violation : outcome::clean;
}

outcome tell_lint(laboratory& lab, const arguments& a) {
    std::vector<lint_finding> all;
    source_places places;
    for (const target_description* d : a.chosen()) {
        if (d->disk != nullptr) continue;
        const auto t = lab.record(*d, a.seed, loads::dirty);
        places.resolve(lab.recorded().trace);
        const lint_rules& rules = d->rules != nullptr ? *d->rules : project_rules();
        merge(all, lint(lab.recorded().trace, places, rules));
    }
    fmt::print("{}", all.empty() ? "lint: nothing to say\n" : to_text(all));
    return has_errors(all) ? outcome::violation : outcome::clean;
}

}  // namespace hf::lab
