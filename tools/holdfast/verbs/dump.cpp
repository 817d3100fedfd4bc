// `holdfast dump`: a store's records as text.
#include "dump/dump.hpp"

#include "interruption.hpp"
#include "quantity.hpp"
#include "text_file.hpp"
#include "verb.hpp"
#include "view/output.hpp"
#include "view/progress.hpp"

#include <fmt/format.h>

#include <ctime>
#include <memory>
#include <string>

namespace hf::tool {

namespace {

struct dump_arguments {
    std::string file;
    std::string to;
    bool force = false;
    bool as_json = false;
    bool salvage = false;
};

/// Dumps a region; if requested, a damaged one, and returns its damage.
result<salvage_report> dump(const dump_arguments& a) {
    auto out = text_output::open(a.to, a.force);
    if (!out) return tl::unexpected(out.error());
    progress_bar bar("dumping " + a.file);
    const auto now = static_cast<std::uint64_t>(std::time(nullptr));
    const auto write = [&out](std::string_view text) { return out->write(text); };
    const auto show = [&bar](std::uint64_t at, std::uint64_t total) { bar.show(at, total); };
    auto done = a.salvage ? salvage_store(a.file, now, write, show)
                          : dump_store(a.file, now, write, show).map([](const dump_report& all) {
                                return salvage_report{all, {}};
                            });
    if (!done) return done;
    if (auto ok = out->finish(); !ok) return tl::unexpected(ok.error());
    return done;
}

/// The error for a partly dumped region.
error part_of(const dump_arguments& a, const salvage_report& s) {
    constexpr std::size_t most_named = 20;
    std::string why = fmt::format("{} violations were found, and what they damage was left out:",
                                  human_count(s.found.violation_count()));
    std::size_t named = 0;
    for (const violation& v : s.found.violations()) {
        if (++named > most_named) {
            why += "\n  and more, which `holdfast check` names";
            break;
        }
        why += fmt::format("\n  offset 0x{:x}: {}", v.offset, v.text);
    }
    return {errc::violation, "dump all of the region", a.file, why,
            "load the dump into a new region"};
}

json json_of(const dump_arguments& a, const salvage_report& s) {
    const dump_report& r = s.dumped;
    return {{"file", a.file},
            {"violation_count", s.found.violation_count()},
            {"ambiguous", s.ambiguous},
            {"to", a.to},
            {"records", r.text.records},
            {"values", r.text.values},
            {"absent", r.absent},
            {"bytes", r.text.bytes},
            {"checksum", fmt::format("{:016x}", r.text.checksum)}};
}

std::string text_of(const dump_arguments& a, const salvage_report& s) {
    const dump_report& r = s.dumped;
    std::string text = fmt::format("{}: {} records in {}", a.to, human_count(r.text.records),
                                   human_size(r.text.bytes));
    if (r.text.values != 0) {
        text += fmt::format(", and {} values that are no records of a store",
                            human_count(r.text.values));
    }
    if (r.absent != 0) {
        text += fmt::format("; {} expired or flushed ones were left out", human_count(r.absent));
    }
    if (s.ambiguous != 0) {
        text += fmt::format("; {} of the same keys were left out", human_count(s.ambiguous));
    }
    return text + "\n";
}

int run(const dump_arguments& a) {
    remove_unfinished_when_interrupted();
    if (a.as_json && is_stream(a.to)) {
        return complain({errc::usage, "understand the arguments", "",
                         "--json and the dump cannot both go to the standard output",
                         "name a file for the dump"});
    }
    const auto done = dump(a);
    if (!done) {
        if (a.as_json) say_json(json{{"file", a.file}, {"error", to_json(done.error())}});
        return complain(done.error());
    }
    if (a.as_json) {
        say_json(json_of(a, *done));
    } else if (!is_stream(a.to)) {
        say(text_of(a, *done));
    }
    return done->found.ok() ? 0 : complain(part_of(a, *done));
}

constexpr const char* dump_remarks =
    "Never changes FILE, not even after a crash. It must not be open for writing: for a region\n"
    "in use, dump a copy made by `holdfast copy`. Records that have expired or\n"
    "were flushed are left out. TO exists only when it is complete.\n\n"
    "A dump fails at the first damage. With --salvage damaged records are listed and left out,\n"
    "the exit code is then 1, and the keys are kept in memory meanwhile.\n\n"
    "The format is text, one line a record, with a checksum at its end; docs/dump_format.md\n"
    "describes it. `holdfast load` reads it.\n\n"
    "Example:\n"
    "  holdfast dump data/store.hf | gzip >store.dump.gz\n"
    "  gunzip <store.dump.gz | holdfast load new.hf";

}  // namespace

void add_dump(CLI::App& app, action& chosen) {
    auto a = std::make_shared<dump_arguments>();
    verb_line(app, "dump", "Write a store's records as text")
        .name("FILE", a->file, "The region")
        .optional_name("TO", a->to, "The file to write; none, or -: the standard output")
        .flag("--force", a->force, "Replace TO if it is a dump")
        .flag("--salvage", a->salvage,
              "Dump a damaged region: write the sound records, and list the damage")
        .json(a->as_json, "Print JSON about the dump, which must go to a file")
        .remarks(dump_remarks)
        .runs(chosen, [a] { return run(*a); });
}

}  // namespace hf::tool
