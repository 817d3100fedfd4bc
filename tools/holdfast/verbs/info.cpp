// `holdfast info`: describes a region in any state.
#include "checkpoint/checkpoint_area.hpp"
#include "discipline/registry.hpp"
#include "epoch/epoch_area.hpp"
#include "quantity.hpp"
#include "region_kind.hpp"
#include "verb.hpp"
#include "view/header_view.hpp"
#include "view/heap_view.hpp"
#include "view/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace hf::tool {

namespace {

std::string state_of(const header_view& v, bool busy) {
    if (busy) return "open in another process";
    return v.super->clean != 0 ? "closed cleanly" : "not closed: the next open recovers it";
}

/// "none", or "7, 9-12" and so on for a few ranges.
std::string failed_epochs_of(const checkpoint_area& s) {
    constexpr u32 most = 8;
    const u32 count = std::min<u32>(s.failed_count, max_failed_ranges);
    if (count == 0) return "none";
    std::string text;
    for (u32 i = 0; i < std::min(count, most); ++i) {
        text += text.empty() ? "" : ", ";
        text += std::to_string(s.failed[i].first);
        if (s.failed[i].last != s.failed[i].first) text += "-" + std::to_string(s.failed[i].last);
    }
    if (count > most) text += fmt::format(" and {} more ranges", count - most);
    return text;
}

std::string kind_name(segment_kind kind) { return std::string(name_of(kind).value_or("unknown")); }

/// "region 2, epoch 1, checkpoint 1".
std::string versions_of(const layout::superblock& s) {
    std::string text = "region " + std::to_string(s.format);
    for (const layout::room_format& r : s.rooms) {
        if (r.name[0] == '\0') continue;
        text += fmt::format(", {} {}", printable(std::string(name_of(r))), r.version);
    }
    return text;
}

json versions_json(const layout::superblock& s) {
    json j{{"region", s.format}};
    for (const layout::room_format& r : s.rooms) {
        if (r.name[0] != '\0') j[printable(std::string(name_of(r)))] = r.version;
    }
    return j;
}

/// nullopt for a discipline without failed epochs, which uses its area otherwise.
std::optional<checkpoint_area> saved_epochs(const layout::superblock& s) {
    if (s.kind != discipline::incll && s.kind != discipline::logged) return std::nullopt;
    return checkpoint_area_of(s);
}

/// On a medium where nothing is durable before a sync, operations of any discipline have epochs.
bool has_epochs(const layout::superblock& s) {
    return layout::is_journalled(s) || registry::find(s.kind)->has_epochs_in_place;
}

image_kind image_of(const layout::superblock& s) {
    return layout::is_journalled(s) ? image_kind::journalled : image_kind::shared;
}

void add_super(sheet& s, const header_view& v, bool busy) {
    const layout::superblock& super = *v.super;
    s.line("uuid", v.uuid());
    s.line("discipline", std::string(to_string(super.kind)));
    if (const auto in_leaves = v.small_values_in_leaves()) {
        s.line("small values", *in_leaves ? "in the leaves, without records" : "in records");
    }
    for (const auto& [name, value] : kind_of(super.kind).describe(super)) s.line(name, value);
    s.line("last medium", std::string(to_string(super.medium)));
    s.line("last image", std::string(to_string(image_of(super))));
    s.line("format versions", versions_of(super));
    s.line("state", state_of(v, busy));
    s.line("openings", human_count(super.generation));
    if (!v.epoch || has_epochs(super)) {
        s.line("running epoch",
               v.epoch ? std::to_string(*v.epoch) : "unknown: its record is damaged");
    }
    if (const auto saved = saved_epochs(super)) {
        s.line("failed epochs", failed_epochs_of(*saved));
        s.line("last full pass", "epoch " + std::to_string(saved->last_pass_epoch));
    }
}

/// Combines the verdicts on the two superblocks.
std::string both(const std::string& first, const std::string& second) {
    if (first != second) return first + " (1), " + second + " (2)";
    return first == header_view::no_superblock ? "none" : "both " + first;
}

void add_directories(sheet& s, const header_view& v) {
    s.title("segments");
    for (const auto kind : {segment_kind::heap, segment_kind::log, segment_kind::slots}) {
        const auto n = std::count_if(v.segments.begin(), v.segments.end(),
                                     [kind](const segment& one) { return one.kind == kind; });
        if (n == 0 && kind == segment_kind::slots) continue;
        const bool is_opaque = kind_of(v.super->kind).view == heap_view::read_none;
        s.line(is_opaque && kind == segment_kind::heap ? "memory" : kind_name(kind),
               fmt::format("{} of {} in all", n, human_size(v.segment_bytes(kind))));
    }
    if (const auto slots = v.second_slots()) {
        s.line("second slots",
               fmt::format("{} of 4 KiB, and {} of table: {:.1f}% of the region",
                           human_count(slots->slots), human_size(slots->table_bytes),
                           100.0 * static_cast<double>(slots->bytes) /
                               static_cast<double>(v.super->total_pages * layout::page_size)));
        s.line("kept for slots",
               fmt::format("{} more, if the region may not grow", human_size(slots->kept_bytes)));
    }
    if (v.bad_segments != 0) s.line("damaged entries", std::to_string(v.bad_segments));
    if (v.intended_pages != 0) {
        s.line("growing to", human_size(v.intended_pages * layout::page_size));
    }
    s.title("roots");
    for (const auto& r : v.roots) {
        s.line(printable(r.name),
               fmt::format("type 0x{:x}, format {}, value 0x{:x}", r.type, r.format, r.value));
    }
    if (v.roots.empty()) s.line("none", "");
}

json json_of(const header_view& v, bool busy) {
    json j;
    j["file"] = v.path;
    j["bytes"] = v.file_bytes;
    j["allocated_bytes"] = v.allocated_bytes;
    j["superblocks"] = v.super_verdict;
    if (!v.super) return j;
    const layout::superblock& s = *v.super;
    j["uuid"] = v.uuid();
    j["discipline"] = to_string(s.kind);
    for (const auto& [name, value] : kind_of(s.kind).describe(s)) j[name] = value;
    const auto in_leaves = v.small_values_in_leaves();
    j["small_values_in_leaves"] = in_leaves ? json(*in_leaves) : json(nullptr);
    j["medium"] = to_string(s.medium);
    j["image"] = to_string(image_of(s));
    j["versions"] = versions_json(s);
    j["features"] = s.features;
    j["busy"] = busy;
    j["clean"] = s.clean != 0;
    j["epoch"] = v.epoch ? json(*v.epoch) : json(nullptr);
    const epoch_area clock = epoch_area_of(s);
    const auto saved = saved_epochs(s);
    j["first_epoch_of_session"] = clock.first_epoch_of_session;
    j["clean_epoch"] = clock.clean_epoch;
    j["last_pass_epoch"] = saved ? json(saved->last_pass_epoch) : json(nullptr);
    j["generation"] = s.generation;
    j["sequence"] = s.sequence;
    j["failed_epochs"] = json::array();
    for (u32 i = 0; saved && i < std::min<u32>(saved->failed_count, max_failed_ranges); ++i) {
        j["failed_epochs"].push_back({saved->failed[i].first, saved->failed[i].last});
    }
    j["segments"] = json::array();
    for (const segment& one : v.segments) {
        j["segments"].push_back({{"offset", one.offset},
                                 {"bytes", one.bytes()},
                                 {"kind", kind_name(one.kind)},
                                 {"owner", one.owner}});
    }
    j["damaged_segment_entries"] = v.bad_segments;
    const auto slots = v.second_slots();
    j["second_slots"] = !slots ? json(nullptr)
                               : json{{"slots", slots->slots},
                                      {"bytes", slots->bytes},
                                      {"table_bytes", slots->table_bytes},
                                      {"kept_bytes", slots->kept_bytes}};
    j["roots"] = json::array();
    for (const auto& r : v.roots) {
        j["roots"].push_back({{"name", printable(r.name)},
                              {"type", r.type},
                              {"format", r.format},
                              {"value", r.value}});
    }
    return j;
}

int inform(const std::string& path, bool as_json) {
    const auto v = header_view::read(path);
    if (!v) {
        if (as_json) say_json(json{{"file", path}, {"error", to_json(v.error())}});
        return complain(v.error());
    }
    // Reading the heap's lists requires a mapping; if that is refused, only the header is shown.
    const auto heap = kind_of(v->super ? v->super->kind : discipline::incll).view(path);
    const bool busy = !heap && heap.error().code == errc::busy;
    if (as_json) {
        json j = json_of(*v, busy);
        if (heap) j["heap"] = heap->to_json();
        if (!heap) j["error"] = to_json(heap.error());
        say_json(j);
        return heap ? 0 : complain(heap.error());
    }
    sheet s;
    s.title(v->path);
    s.line("size",
           fmt::format("{} ({} bytes)", human_size(v->file_bytes), human_count(v->file_bytes)));
    if (v->allocated_bytes < v->file_bytes) {
        s.line("allocated", human_size(v->allocated_bytes) + ": the file has holes");
    }
    s.line("superblocks", both(v->super_verdict[0], v->super_verdict[1]));
    if (v->super) {
        add_super(s, *v, busy);
        add_directories(s, *v);
    }
    if (heap) heap->add_to(s);
    say(s.text());
    return heap ? 0 : complain(heap.error());
}

constexpr const char* info_remarks =
    "Never changes the file. For a damaged region it prints the readable part, then the error\n"
    "and exit code of an open. For a region that is open in another\n"
    "process it prints the header (exit code 5).\n\n"
    "Example:\n"
    "  holdfast info --json data/store.hf | jq .heap";

}  // namespace

void add_info(CLI::App& app, action& chosen) {
    auto path = std::make_shared<std::string>();
    auto as_json = std::make_shared<bool>(false);
    verb_line(app, "info", "Tell what a region holds, from its header and heap")
        .name("FILE", *path, "The region")
        .json(*as_json)
        .remarks(info_remarks)
        .runs(chosen, [path, as_json] { return inform(*path, *as_json); });
}

}  // namespace hf::tool
