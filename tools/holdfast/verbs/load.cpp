// `holdfast load`: a store from a dump.
#include "dump/dump.hpp"
#include "interruption.hpp"
#include "map_kind.hpp"
#include "quantity.hpp"
#include "text_file.hpp"
#include "verb.hpp"
#include "view/output.hpp"
#include "view/progress.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

namespace hf::tool {

namespace {

struct load_arguments {
    std::string file;
    std::string from;
    bool into_existing = false;
    bool new_cas = false;
    bool force = false;
    std::string discipline;
    std::string index;
    bool small_values_in_leaves = false;
    bool as_json = false;
};

transfer_progress progress_of(progress_bar& bar, std::uint64_t total) {
    return [&bar, total](std::uint64_t at, std::uint64_t) {
        if (total != 0) bar.show(at, total);
    };
}

result<detail::dump_totals> make_new(const load_arguments& a, text_input& in) {
    detail::dump_reader reader(in.source(), in.name());
    progress_bar bar("loading " + a.file);
    const load_options how{a.new_cas, a.force, kind_named(a.discipline), a.index,
                           a.small_values_in_leaves};
    return load_new(a.file, reader, how, progress_of(bar, in.bytes()));
}

/// The whole dump is verified before the first record is written.
result<detail::dump_totals> add_to(const load_arguments& a, text_input& in) {
    if (!detail::is_taken(a.file)) {
        return failure({errc::not_found, "load the dump into a region that is there", a.file,
                        "there is none", "leave --into-existing out to make it"});
    }
    const auto parent = std::filesystem::path(a.file).parent_path().string();
    auto source = in.source_kept(parent.empty() ? "." : parent);
    if (!source) return tl::unexpected(source.error());
    {
        detail::dump_reader reader(std::move(*source), in.name());
        progress_bar bar("verifying " + in.name());
        auto found = verify_dump(reader, progress_of(bar, in.bytes()));
        if (!found) return found;
        if (found->values != 0) {
            return failure({errc::incompatible, "load the dump into a region that is there", a.file,
                            "the dump holds values that are no records of a store",
                            "load it into a new region"});
        }
    }
    if (auto ok = in.rewind(); !ok) return tl::unexpected(ok.error());
    detail::dump_reader reader(in.source(), in.name());
    progress_bar bar("loading " + a.file);
    return load_into(a.file, reader, progress_of(bar, in.bytes()));
}

json json_of(const load_arguments& a, const detail::dump_totals& t) {
    return {{"file", a.file},       {"from", a.from},
            {"records", t.records}, {"values", t.values},
            {"bytes", t.bytes},     {"checksum", fmt::format("{:016x}", t.checksum)}};
}

int run(const load_arguments& a) {
    remove_unfinished_when_interrupted();
    auto in = text_input::open(a.from);
    auto done = !in               ? result<detail::dump_totals>(tl::unexpected(in.error()))
                : a.into_existing ? add_to(a, *in)
                                  : make_new(a, *in);
    if (!done) {
        error e = done.error();
        if (e.code == errc::usage && e.where == a.file) {
            e.next = "choose another name, replace it (--force) or add to it (--into-existing)";
        }
        if (a.as_json) say_json(json{{"file", a.file}, {"error", to_json(e)}});
        return complain(e);
    }
    if (a.as_json) {
        say_json(json_of(a, *done));
    } else {
        say(fmt::format("{}: {} records loaded\n", a.file,
                        human_count(done->records + done->values)));
    }
    return 0;
}

constexpr const char* load_remarks =
    "A truncated or altered dump is refused, and changes nothing: FILE exists only when it is\n"
    "complete. Until then it is called FILE.partial. An interrupted load removes that; the next "
    "load\n"
    "removes it if this one was killed by SIGKILL. With --into-existing the whole dump is "
    "verified\n"
    "before the first record is written.\n\n"
    "Example:\n"
    "  holdfast load new.hf store.dump\n"
    "  holdfast load --discipline eager --index art /dev/shm/new.hf store.dump\n"
    "  gunzip <store.dump.gz | holdfast load --into-existing data/store.hf";

}  // namespace

void add_load(CLI::App& app, action& chosen) {
    auto a = std::make_shared<load_arguments>();
    verb_line(app, "load", "Make a store from a dump")
        .name("FILE", a->file, "The region to make")
        .optional_name("FROM", a->from, "The dump; none, or -: the standard input")
        .flag("--into-existing", a->into_existing,
              "Add the records to an existing region; records of the same\n"
              "keys are replaced")
        .flag("--new-cas", a->new_cas,
              "Give every record a new cas unique. With --into-existing that is always done")
        .flag("--force", a->force, "Replace FILE if it is a region that is not open")
        .choice("--discipline", a->discipline, map_disciplines(),
                "For a new region: incll (epochs), or eager (durable with every write);\n"
                "default: incll, or eager if --index is given")
        .choice("--index", a->index, eager_index_names(), "For a new region of discipline eager")
        .flag("--small-values-in-leaves", a->small_values_in_leaves,
              "For a new region of discipline incll: values of up to 8 bytes under keys of\n"
              "up to 8 need no record. For maps; records of a store are longer")
        .not_both("--new-cas", "--into-existing")
        .not_both("--discipline", "--into-existing")
        .not_both("--index", "--into-existing")
        .not_both("--small-values-in-leaves", "--index")
        .not_both("--small-values-in-leaves", "--into-existing")
        .not_both("--force", "--into-existing")
        .json(a->as_json)
        .remarks(load_remarks)
        .runs(chosen, [a] { return run(*a); });
}

}  // namespace hf::tool
