// `holdfast compact`: gives the space of a region back to the file system.
#include "dump/compact.hpp"

#include "base/clock.hpp"
#include "discipline/registry.hpp"
#include "quantity.hpp"
#include "region/header.hpp"
#include "verb.hpp"
#include "view/output.hpp"
#include "view/progress.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

namespace hf::tool {

namespace {

struct compact_arguments {
    std::string file;
    bool as_json = false;
};

/// The error for regions whose contents cannot be moved; nullopt: it holds a map.
std::optional<error> refusal(const std::string& file) {
    const auto kind = detail::discipline_in(file);
    if (!kind) return std::nullopt;  // compact_map() says why
    if (*kind == discipline::incll || *kind == discipline::eager) return std::nullopt;
    const registry::row* const r = registry::find(*kind);
    const std::string what =
        r == nullptr ? "unknown" : std::string(r->name) + ": " + std::string(r->contents);
    return error{errc::incompatible, "compact the region", file, "its discipline is " + what,
                 "only maps can be compacted: let its own program write what is in it to a new "
                 "region, or make a copy that does not store free pages (holdfast copy)"};
}

json json_of(const compact_arguments& a, const compact_report& r, double seconds) {
    return {{"file", a.file},           {"records", r.records},
            {"absent", r.absent},       {"bytes_before", r.bytes_before},
            {"bytes", r.bytes},         {"stored_before", r.stored_before},
            {"stored_bytes", r.stored}, {"seconds", seconds}};
}

std::string text_of(const compact_arguments& a, const compact_report& r, u64 ns) {
    std::string text =
        fmt::format("{}: {} instead of {}, {} records in {}\n", a.file, human_size(r.stored),
                    human_size(r.stored_before), human_count(r.records),
                    human_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(ns))));
    if (r.absent != 0) {
        text += fmt::format("{} expired or flushed records were left out\n", human_count(r.absent));
    }
    return text;
}

result<compact_report> compact(const compact_arguments& a) {
    if (const auto no = refusal(a.file)) return tl::unexpected(*no);
    progress_bar bar("compacting " + a.file);
    return compact_map(a.file, static_cast<u64>(std::time(nullptr)),
                       [&bar](u64 at, u64 total) { bar.show(at, total); });
}

int run(const compact_arguments& a) {
    const u64 start = now_ns();
    const auto done = compact(a);
    if (!done) {
        if (a.as_json) say_json(json{{"file", a.file}, {"error", to_json(done.error())}});
        return complain(done.error());
    }
    const u64 took = now_ns() - start;
    if (a.as_json) {
        say_json(json_of(a, *done, static_cast<double>(took) / 1e9));
    } else {
        say(text_of(a, *done, took));
    }
    return 0;
}

constexpr const char* compact_remarks =
    "A region does not become shorter when records are removed. This writes its records to a new\n"
    "region beside it, which takes its name when it is complete. Kept are discipline, index,\n"
    "options, data, flags, expiry and cas uniques; expired and flushed records are left out.\n\n"
    "FILE must not be open (exit code 5). Until the end it is unchanged, also if the disk becomes\n"
    "full (exit code 8) or the process is killed: the new region is called FILE.partial, which "
    "the\n"
    "next compaction removes. There must be room for the records beside FILE. Regions that hold "
    "no\n"
    "map are refused.\n\n"
    "Example:\n"
    "  holdfast compact data/store.hf\n"
    "  holdfast compact --json /dev/shm/cache.hf";

}  // namespace

void add_compact(CLI::App& app, action& chosen) {
    auto a = std::make_shared<compact_arguments>();
    verb_line(app, "compact", "Give the space of removed records back to the file system")
        .name("FILE", a->file, "The region, which is replaced")
        .json(a->as_json)
        .remarks(compact_remarks)
        .runs(chosen, [a] { return run(*a); });
}

}  // namespace hf::tool
