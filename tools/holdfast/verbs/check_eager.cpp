// `holdfast check` of a region of discipline eager.
#include "base/clock.hpp"
#include "eager_map/inspection.hpp"
#include "quantity.hpp"
#include "verbs/other_checks.hpp"
#include "view/output.hpp"

#include <fmt/format.h>

#include <chrono>
#include <optional>

namespace hf::tool {

namespace {

constexpr std::size_t most_eager_told = 50;

int exit_code_of(const eager_inspection& looked, const std::optional<audit_report>& report) {
    if (!report) return looked.refusal()->exit_code();
    return report->ok() ? 0 : static_cast<int>(errc::violation);
}

json json_of(const std::string& path, const eager_inspection& looked,
             const std::optional<audit_report>& report, u64 ns) {
    json j{{"file", path}, {"seconds", static_cast<double>(ns) / 1e9}};
    j["exit_code"] = exit_code_of(looked, report);
    if (!report) {
        j["verdict"] = to_string(looked.refusal()->code);
        j["error"] = to_json(*looked.refusal());
        return j;
    }
    j["verdict"] = report->ok() ? "sound" : "violations";
    j["discipline"] = "eager";
    j["index"] = looked.index();
    j["keys"] = looked.keys();
    j["records"] = report->tree.records;
    j["violations"] = json::array();
    for (const violation& v : report->violations()) {
        j["violations"].push_back({{"offset", v.offset}, {"text", v.text}});
    }
    j["violation_count"] = report->violation_count();
    return j;
}

std::string text_of(const std::string& path, const eager_inspection& looked,
                    const audit_report& report, u64 ns) {
    std::string text =
        fmt::format("{}: {}: {} records in index {}, keys are {}; checked in {}\n", path,
                    report.ok() ? "sound" : human_count(report.violation_count()) + " violations",
                    human_count(report.tree.records), looked.index(), looked.keys(),
                    human_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(ns))));
    std::size_t told = 0;
    for (const violation& v : report.violations()) {
        if (told++ == most_eager_told) break;
        text += fmt::format("  offset 0x{:x}: {}\n", v.offset, v.text);
    }
    if (report.violation_count() > most_eager_told) {
        text +=
            fmt::format("  and {} more\n", human_count(report.violation_count() - most_eager_told));
    }
    return text;
}

}  // namespace

int check_eager(const std::string& path, bool as_json) {
    const u64 start = now_ns();
    const auto looked = eager_inspection::open(path);
    std::optional<audit_report> report;
    if (!looked.refusal()) report = looked.audit();
    const u64 took = now_ns() - start;
    if (as_json) {
        say_json(json_of(path, looked, report, took));
    } else if (report) {
        say(text_of(path, looked, *report, took));
    }
    return report ? exit_code_of(looked, report) : complain(*looked.refusal());
}

}  // namespace hf::tool
