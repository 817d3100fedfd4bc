// `holdfast check`: checks a whole region, read-only, and reports violations.
#include "base/clock.hpp"
#include "discipline/registry.hpp"
#include "map/inspect.hpp"
#include "quantity.hpp"
#include "region_kind.hpp"
#include "verb.hpp"
#include "view/heap_view.hpp"
#include "view/output.hpp"
#include "view/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace hf::tool {

namespace {

constexpr std::size_t most_printed = 50;

struct finding {
    const inspection& looked;
    const std::optional<audit_report>& report;
    u64 ns;

    [[nodiscard]] int exit_code() const {
        if (looked.refusal()) return looked.refusal()->exit_code();
        return report->ok() ? 0 : static_cast<int>(errc::violation);
    }
    [[nodiscard]] const char* verdict() const {
        if (looked.refusal()) return to_string(looked.refusal()->code);
        return report->ok() ? "sound" : "violations";
    }
};

json tree_json(const tree_figures& t) {
    return {{"records", t.records},
            {"large_records", t.large_records},
            {"key_bytes", t.key_bytes},
            {"value_bytes", t.value_bytes},
            {"layers", t.layers},
            {"deepest_layer", t.deepest_layer},
            {"tallest_layer", t.tallest_layer},
            {"leaves", t.leaves},
            {"interior_nodes", t.interiors},
            {"empty_leaves", t.empty_leaves},
            {"empty_layers", t.empty_layers},
            {"recovered_leaves", t.recovered_leaves}};
}

json blocks_json(const heap_figures& heap) {
    heap_figures::of_class sum;
    for (const auto& c : heap.classes) {
        sum.claimed += c.claimed;
        sum.free += c.free;
        sum.pending += c.pending;
        sum.fresh += c.fresh;
        sum.leaked += c.leaked;
    }
    return {{"in_use", sum.claimed},
            {"free", sum.free},
            {"freed_lately", sum.pending},
            {"never_used", sum.fresh},
            {"leaked", sum.leaked}};
}

json json_of(const std::string& path, const finding& f) {
    json j;
    j["file"] = path;
    j["verdict"] = f.verdict();
    j["exit_code"] = f.exit_code();
    if (f.looked.refusal()) j["error"] = to_json(*f.looked.refusal());
    if (!f.report) return j;
    j["complete"] = f.report->complete();
    j["violation_count"] = f.report->violation_count();
    j["violations"] = json::array();
    for (const violation& v : f.report->violations()) {
        j["violations"].push_back({{"offset", v.offset}, {"text", v.text}});
    }
    j["recovered_log_entries"] = f.looked.checkpoint().recovered_entries();
    j["tree"] = tree_json(f.report->tree);
    j["blocks"] = blocks_json(f.report->heap);
    j["heap"] = heap_json(f.report->heap);
    j["seconds"] = static_cast<double>(f.ns) / 1e9;
    return j;
}

void add_tree(sheet& s, const tree_figures& t) {
    s.title("tree");
    s.line("records", fmt::format("{} ({} large): {} of keys, {} of values", human_count(t.records),
                                  human_count(t.large_records), human_size(t.key_bytes),
                                  human_size(t.value_bytes)));
    s.line("layers", fmt::format("{}, {} deep, {} nodes from a root to a leaf at most",
                                 human_count(t.layers), t.deepest_layer, t.tallest_layer));
    s.line("nodes", fmt::format("{} leaves, {} interior nodes", human_count(t.leaves),
                                human_count(t.interiors)));
    s.line("empty", fmt::format("{} leaves, {} layers (harmless)", human_count(t.empty_leaves),
                                human_count(t.empty_layers)));
}

void add_blocks(sheet& s, const heap_figures& heap) {
    const json sum = blocks_json(heap);
    const auto count = [&sum](const char* name) { return human_count(sum[name].get<u64>()); };
    s.title("blocks");
    s.line("in use", count("in_use"));
    s.line("free",
           fmt::format("{}, and {} freed in the last epoch", count("free"), count("freed_lately")));
    s.line("never used", count("never_used"));
    s.line("leaked", count("leaked"));
    s.line("extents", human_count(heap.extents));
}

std::string text_of(const std::string& path, const finding& f) {
    std::string text;
    if (f.report) {
        const audit_report& r = *f.report;
        std::size_t printed = 0;
        for (const violation& v : r.violations()) {
            if (++printed > most_printed) break;
            text += fmt::format("offset 0x{:x}: {}\n", v.offset, v.text);
        }
        if (r.violation_count() > most_printed) {
            text += fmt::format("and {} more (--json tells up to {})\n",
                                human_count(r.violation_count() - most_printed),
                                audit_report::most_kept);
        }
        if (!text.empty()) text += '\n';
        sheet s;
        add_tree(s, r.tree);
        add_blocks(s, r.heap);
        if (f.looked.checkpoint().needs_recovery()) {
            s.title("recovery (in memory; the file is as it was)");
            s.line("log entries", human_count(f.looked.checkpoint().recovered_entries()));
            s.line("leaves", human_count(r.tree.recovered_leaves));
        }
        text += s.text() + "\n";
    }
    text += fmt::format("{}: {}", path, f.verdict());
    if (f.report && !f.report->ok()) {
        text += fmt::format("; {} {}", human_count(f.report->violation_count()),
                            f.report->violation_count() == 1 ? "violation" : "violations");
    }
    if (f.report && !f.report->complete()) text += "; not everything could be walked";
    if (f.looked.is_fresh()) text += ", and never used";
    return text +
           fmt::format(" ({})\n",
                       human_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(f.ns))));
}

constexpr const char* check_remarks =
    "For a heap of objects it verifies types, counts, pointers, lists and the allocator's data,\n"
    "without the program that made it; `holdfast repair` repairs what can be repaired.\n\n"
    "Never changes the file: recovery runs on a private copy in memory. The region must not be\n"
    "open for writing. Regions of older versions have records without checksums: damage to these\n"
    "may not be detected.\n\n"
    "Exit code 0: sound. 1: violations. 6: too damaged to be opened.\n\n"
    "Example:\n"
    "  holdfast copy data/store.hf backup.hf\n"
    "  holdfast check backup.hf";

}  // namespace

int check_header(const std::string& path, bool as_json) {
    region_options look;
    look.mode = open_mode::inspect;
    const auto file = open_region(path, look);
    epoch_options by_hand;
    by_hand.epoch = no_clock;
    const auto epochs = file ? epoch_manager::open(*file, by_hand) : tl::unexpected(file.error());
    const int code = epochs ? 0 : epochs.error().exit_code();
    if (as_json) {
        json j{{"file", path}, {"verdict", epochs ? "sound" : to_string(epochs.error().code)}};
        j["exit_code"] = code;
        if (file) j["discipline"] = to_string(file->file->kind());
        if (!epochs) j["error"] = to_json(epochs.error());
        say_json(j);
    } else if (epochs) {
        const registry::row& r = *registry::find(file->file->kind());
        say(fmt::format("{}: sound, as far as header and journal go; its discipline is {}: {}\n",
                        path, r.name, r.contents));
    }
    return epochs ? 0 : complain(epochs.error());
}

int check_map(const std::string& path, bool as_json) {
    const u64 start = now_ns();
    const inspection looked = inspect_map(path);
    std::optional<audit_report> report;
    if (looked.is_open()) {
        progress_bar bar("checking " + path);
        report = looked.audit([&bar](u64 done, u64 total) { bar.show(done, total); });
    }
    const finding f{looked, report, now_ns() - start};
    if (as_json) {
        say_json(json_of(path, f));
    } else if (report) {
        say(text_of(path, f));
    }
    return looked.refusal() ? complain(*looked.refusal()) : f.exit_code();
}

void add_check(CLI::App& app, action& chosen) {
    auto path = std::make_shared<std::string>();
    auto as_json = std::make_shared<bool>(false);
    verb_line(app, "check", "Walk the whole tree and allocator and report violations")
        .name("FILE", *path, "The region")
        .json(*as_json)
        .remarks(check_remarks)
        .runs(chosen, [path, as_json] { return kind_of(*path).check(*path, *as_json); });
}

}  // namespace hf::tool
