// `holdfast copy`: copies a region, also while it is in use.
#include "base/clock.hpp"
#include "discipline/registry.hpp"
#include "interruption.hpp"
#include "quantity.hpp"
#include "region_kind.hpp"
#include "verb.hpp"
#include "verbs/salvage_copy.hpp"
#include "view/output.hpp"
#include "view/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <string>

namespace hf::tool {

namespace {

struct copy_arguments {
    std::string file;
    std::string to;
    bool force = false;
    bool skip_damaged = false;
    bool as_json = false;
};

std::string duration_of(u64 ns) {
    return human_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
}

json json_of(const copy_arguments& a, const detail::image_facts& f, u64 ns) {
    return {{"file", a.file},
            {"to", a.to},
            {"bytes", f.bytes},
            {"stored_bytes", f.stored_bytes},
            {"epoch", f.epoch},
            {"in_use", f.in_use},
            {"paused", f.paused},
            {"shares_blocks", f.shares_blocks},
            {"held_seconds", static_cast<double>(f.held_ns) / 1e9},
            {"seconds", static_cast<double>(ns) / 1e9}};
}

std::string text_of(const copy_arguments& a, const detail::image_facts& f, u64 ns) {
    const std::string state = !registry::find(f.kind)->has_epochs_in_place
                                  ? ""
                                  : fmt::format(" the state at the end of epoch {},", f.epoch);
    std::string text = fmt::format(
        "{}: {} ({} stored),{} {} in {}\n", a.to, human_size(f.bytes), human_size(f.stored_bytes),
        state, f.shares_blocks ? "sharing blocks with the original" : "copied", duration_of(ns));
    if (f.in_use) {
        text += fmt::format("{} is in use; {} waited {}\n", a.file,
                            f.paused ? "its readers and writers" : "its old records",
                            duration_of(f.held_ns));
    }
    return text;
}

error refusal_of(const copy_arguments& a, error e) {
    if (e.code == errc::usage && e.where == a.to && a.to != a.file) {
        e.next = "choose another name, or replace it with --force";
    }
    if (a.as_json) say_json(json{{"file", a.file}, {"error", to_json(e)}});
    return e;
}

int run_skipping(const copy_arguments& a) {
    progress_bar bar("copying " + a.file);
    const auto done = copy_sound_records(a.file, a.to, a.force,
                                         [&bar](u64 at, u64 total) { bar.show(at, total); });
    if (!done) return complain(refusal_of(a, done.error()));
    const auto& damage = done->found.violations();
    const u64 records = done->dumped.text.records + done->dumped.text.values;
    if (a.as_json) {
        json all = json::array();
        for (const violation& v : damage) {
            all.push_back(json{{"offset", v.offset}, {"text", printable(v.text)}});
        }
        say_json(json{{"file", a.file},
                      {"to", a.to},
                      {"records", records},
                      {"violation_count", done->found.violation_count()},
                      {"violations", all}});
    } else {
        for (const violation& v : damage) say(fmt::format("offset 0x{:x}: {}\n", v.offset, v.text));
        say(fmt::format(
            "{}: {} records; {} violations were found, and what they damage was left out\n", a.to,
            human_count(records), human_count(done->found.violation_count())));
    }
    return done->found.ok() ? 0 : error{errc::violation, "", "", "", ""}.exit_code();
}

int run(const copy_arguments& a) {
    remove_unfinished_when_interrupted();
    if (a.skip_damaged) return run_skipping(a);
    const u64 start = now_ns();
    const auto done = [&a] {
        progress_bar bar("copying " + a.file);
        return kind_of(a.file).copy(a.file, a.to, a.force,
                                    [&bar](u64 at, u64 total) { bar.show(at, total); });
    }();
    if (!done) return complain(refusal_of(a, done.error()));
    const u64 took = now_ns() - start;
    if (a.as_json) {
        say_json(json_of(a, *done, took));
    } else {
        say(text_of(a, *done, took));
    }
    return 0;
}

constexpr const char* copy_remarks =
    "TO is the state at the end of one epoch, no older than the state that was durable when the\n"
    "copy began. FILE is not changed, and may be in use. On a disk further epochs become durable\n"
    "meanwhile, but the journal grows, and closing the region waits for the copy. On tmpfs and\n"
    "persistent memory readers and writers of FILE wait for it; there, regions without epochs\n"
    "(eager indexes, heaps of objects, snapshots) are refused while in use (exit code 5). If the\n"
    "file system can share blocks (xfs, btrfs), a copy takes only a moment.\n\n"
    "Space of FILE that was never used, and pages that its heap has freed, are holes of TO: they\n"
    "take no room until TO is opened for writing. Only while a copy of a region that was not "
    "closed\n"
    "in order is recovered, it takes the whole size.\n\n"
    "TO is another region, with its own identity and closed in order. It exists only when it is\n"
    "complete. Until then it is called TO.partial. An interrupted copy removes that; the next "
    "copy\n"
    "removes it if this one was killed by SIGKILL.\n\n"
    "A damaged region is not copied. With --skip-damaged TO is made from the sound records of a\n"
    "store or map of discipline incll; the damage is listed, and the exit code is 1.\n\n"
    "Example:\n"
    "  holdfast copy --force data/store.hf backup.hf";

}  // namespace

void add_copy(CLI::App& app, action& chosen) {
    auto a = std::make_shared<copy_arguments>();
    verb_line(app, "copy", "Copy a region, also while it is served")
        .name("FILE", a->file, "The region")
        .name("TO", a->to, "The copy")
        .flag("--force", a->force, "Replace TO if it is a region that is not open")
        .flag("--skip-damaged", a->skip_damaged,
              "Copy the sound records of a damaged region, and list the damage")
        .json(a->as_json)
        .remarks(copy_remarks)
        .runs(chosen, [a] { return run(*a); });
}

}  // namespace hf::tool
