// `holdfast check` of a heap of objects.
#include "base/clock.hpp"
#include "quantity.hpp"
#include "view/heap_view.hpp"
#include "view/objects.hpp"

#include <fmt/format.h>

#include <chrono>

namespace hf::tool {
namespace {

constexpr std::size_t most_told = 50;

std::string violations_of(const nv::heap_facts& facts) {
    std::string text;
    const auto& all = facts.report.violations;
    for (std::size_t i = 0; i < std::min(all.size(), most_told); ++i) {
        text += printable(all[i]) + '\n';
    }
    if (facts.violations > most_told) {
        text += fmt::format("and {} more (--json tells up to {})\n",
                            human_count(facts.violations - most_told), nv::heap_facts::most_told);
    }
    return text.empty() ? text : text + '\n';
}

int say_refusal(const std::string& path, const error& e, bool as_json) {
    if (as_json) {
        say_json({{"file", path},
                  {"verdict", to_string(e.code)},
                  {"exit_code", e.exit_code()},
                  {"error", to_json(e)}});
    }
    return complain(e);
}

std::string text_of(const std::string& path, const nv::heap_look& look, const nv::heap_facts& facts,
                    u64 ns) {
    sheet s;
    add_objects(s, facts);
    add_heap(s, facts.books);
    if (look.recovered_records() != 0) {
        s.title("recovery (in memory; the file is as it was)");
        s.line("commit records", human_count(look.recovered_records()));
    }
    std::string text = violations_of(facts) + s.text() + "\n" + path + ": ";
    text += facts.violations == 0
                ? "sound"
                : fmt::format("violations; {} in all; `holdfast repair` tells what can be mended",
                              human_count(facts.violations));
    return text +
           fmt::format(" ({})\n",
                       human_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(ns))));
}

json json_of(const std::string& path, const nv::heap_look& look, const nv::heap_facts& facts,
             u64 ns) {
    json j{{"file", path}, {"verdict", facts.violations == 0 ? "sound" : "violations"}};
    j["exit_code"] = facts.violations == 0 ? 0 : static_cast<int>(errc::violation);
    j["violation_count"] = facts.violations;
    j["violations"] = json::array();
    for (const std::string& v : facts.report.violations) {
        j["violations"].push_back(violation_json(v));
    }
    j["recovered_commit_records"] = look.recovered_records();
    j["objects"] = objects_json(facts);
    j["heap"] = heap_json(facts.books);
    j["seconds"] = static_cast<double>(ns) / 1e9;
    return j;
}

}  // namespace

void add_objects(sheet& s, const nv::heap_facts& facts) {
    const nv::heap_report& r = facts.report;
    s.title("objects");
    s.line("in all",
           fmt::format("{} in blocks of {}", human_count(r.objects), human_size(r.bytes)));
    s.line("reachable", human_count(r.reachable));
    s.line("in cycles that nothing reaches",
           human_count(r.unreachable) + (r.unreachable == 0 ? "" : "; heap.collect() frees them"));
    s.line("proxies of weak pointers", human_count(r.proxies));
    s.line("held by references alone", human_count(r.orphans));
    s.line("dead, to be destroyed", human_count(r.doomed));
    s.line("types", human_count(facts.types.size()));
    s.line("roots", human_count(facts.roots.size()));
}

json objects_json(const nv::heap_facts& facts) {
    const nv::heap_report& r = facts.report;
    return {{"count", r.objects},         {"bytes", r.bytes},
            {"reachable", r.reachable},   {"unreachable", r.unreachable},
            {"proxies", r.proxies},       {"orphans", r.orphans},
            {"doomed", r.doomed},         {"types", facts.types.size()},
            {"roots", facts.roots.size()}};
}

json violation_json(const std::string& told) {
    const std::size_t colon = told.find(": ");
    const std::size_t begin = std::string_view("offset ").size();
    return {{"offset", std::stoull(told.substr(begin, colon - begin))},
            {"text", printable(told.substr(colon + 2))}};
}

int check_objects(const std::string& path, bool as_json) {
    const u64 start = now_ns();
    const auto look = nv::heap_look::open(path);
    if (!look) return say_refusal(path, look.error(), as_json);
    const auto facts = look->read();
    if (!facts) return say_refusal(path, facts.error(), as_json);
    if (as_json) {
        say_json(json_of(path, *look, *facts, now_ns() - start));
    } else {
        say(text_of(path, *look, *facts, now_ns() - start));
    }
    return facts->violations == 0 ? 0 : static_cast<int>(errc::violation);
}

}  // namespace hf::tool
