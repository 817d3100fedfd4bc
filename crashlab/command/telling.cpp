#include "crashlab/command/telling.hpp"

#include "crashlab/command/minimise.hpp"
#include "crashlab/command/replay_token.hpp"
#include "crashlab/lint/lint.hpp"
#include "crashlab/report/summary.hpp"
#include "crashlab/report/timeline.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

namespace hf::lab {
namespace {

std::string replay_line(const target_result& r, const arguments& a, const finding& f) {
    return fmt::format("./dev crash --target {} --seed {}{}{} --replay '{}'", r.target->name,
                       r.seed_of_finding, a.model == "pcso" ? "" : " --model " + a.model,
                       a.trace.empty() ? "" : " --trace " + a.trace, token_of(f));
}

bool write_file(const std::string& path, const std::string& text) {
    if (path.empty()) return true;
    std::ofstream out(path, std::ios::trunc);
    out << text;
    out.close();
    if (!out) fmt::print(stderr, "hf_crash: {} could not be written\n", path);
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
    bool written = a.json == "-" || write_file(a.json, to_json(report) + "\n");
    written = write_file(a.html, to_html(report)) && written;
    const campaign_totals all = report.totals();
    if (all.findings != 0) return outcome::violation;
    if (!written) return outcome::bad_arguments;
    return all.points_missed.empty() ? outcome::clean : outcome::points_missed;
}

namespace {

/// There is no timeline of a disk yet: what is wrong, and where the power went.
outcome tell_disk_replay(const disk_target& d, const finding& f, const arguments& a) {
    const u32 calls = f.stages.empty() ? 0 : f.stages.front().event;
    const auto wrong = d.replay(a.seed, calls, f.question);
    if (!a.brief) {
        fmt::print("the power goes at call {} of the disks, draw {}: {}\n", calls, f.question,
                   wrong.value_or("nothing is wrong"));
    }
    return wrong ? outcome::violation : outcome::clean;
}

}  // namespace

outcome tell_replay(laboratory& lab, const target_description& d, const arguments& a) {
    auto f = parse_token(a.replay);
    if (!f) {
        fmt::print(stderr, "hf_crash: '{}' is no replay token\n", a.replay);
        return outcome::bad_arguments;
    }
    if (d.disk != nullptr) return tell_disk_replay(*d.disk, *f, a);
    const auto t = lab.record(d, a.seed);
    if (!a.trace.empty() && !lab.adopt_trace(a.trace)) {
        fmt::print(stderr, "hf_crash: {} is no trace, or a broken one\n", a.trace);
        return outcome::bad_arguments;
    }
    std::vector<told_stage> stages;
    const auto wrong = lab.replay(*t, *f, a.mode(), [&](const auto& trace, const auto& before) {
        if (!a.brief) stages.push_back({trace, before, f->stages[stages.size()]});
    });
    if (a.brief) return wrong ? outcome::violation : outcome::clean;
    f->what = wrong.value_or("");
    source_places places;
    // A release build's trace has that program's addresses, which say nothing here.
    for (const told_stage& s : stages) {
        if (a.trace.empty()) places.resolve(s.trace);
    }
    const auto drawn =
        make_timeline(fmt::format("{}, seed {}", d.name, a.seed), *f, stages, places);
    fmt::print("{}", to_text(drawn));
    if (!write_file(a.svg, to_svg(drawn))) return outcome::bad_arguments;
    return wrong ? outcome::violation : outcome::clean;
}

outcome tell_lint(laboratory& lab, const arguments& a) {
    std::vector<lint_finding> all;
    source_places places;
    for (const target_description* d : a.chosen()) {
        if (d->disk != nullptr) continue;
        const auto t = lab.record(*d, a.seed, loads::dirty);
        places.resolve(lab.recorded().trace);
        merge(all, lint(lab.recorded().trace, places));
    }
    fmt::print("{}", all.empty() ? "lint: nothing to say\n" : to_text(all));
    return has_errors(all) ? outcome::violation : outcome::clean;
}

}  // namespace hf::lab
