// `holdfast dump`: a store's records as text.
#include "dump/dump.hpp"

#include "output.hpp"
#include "progress.hpp"
#include "quantity.hpp"
#include "text_file.hpp"
#include "verb.hpp"

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
};

result<dump_report> dump(const dump_arguments& a) {
    auto out = text_output::open(a.to, a.force);
    if (!out) return tl::unexpected(out.error());
    progress_bar bar("dumping " + a.file);
    auto done = dump_store(
        a.file, static_cast<std::uint64_t>(std::time(nullptr)),
        [&out](std::string_view text) { return out->write(text); },
        [&bar](std::uint64_t at, std::uint64_t total) { bar.show(at, total); });
    if (!done) return done;
    if (auto ok = out->finish(); !ok) return tl::unexpected(ok.error());
    return done;
}

json json_of(const dump_arguments& a, const dump_report& r) {
    return {{"file", a.file},
            {"to", a.to},
            {"records", r.text.records},
            {"values", r.text.values},
            {"absent", r.absent},
            {"bytes", r.text.bytes},
            {"checksum", fmt::format("{:016x}", r.text.checksum)}};
}

std::string text_of(const dump_arguments& a, const dump_report& r) {
    std::string text = fmt::format("{}: {} records in {}", a.to, human_count(r.text.records),
                                   human_size(r.text.bytes));
    if (r.text.values != 0) {
        text += fmt::format(", and {} values that are no records of a store",
                            human_count(r.text.values));
    }
    if (r.absent != 0) {
        text += fmt::format("; {} expired or flushed ones were left out", human_count(r.absent));
    }
    return text + "\n";
}

int run(const dump_arguments& a) {
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
    return 0;
}

constexpr const char* dump_remarks =
    "Never changes FILE, not even after a crash. It must not be open for writing: of a region\n"
    "in use, `holdfast copy` makes a copy that can be dumped. Records that have expired or\n"
    "were flushed are left out. TO is there when it is complete, or not at all.\n\n"
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
        .json(a->as_json, "Print JSON about the dump, which must go to a file")
        .remarks(dump_remarks)
        .runs(chosen, [a] { return run(*a); });
}

}  // namespace hf::tool
