#include "bench/options.hpp"

#include <holdfast/eager.hpp>

#include "alloc/size_class.hpp"
#include "bench/option_values.hpp"
#include "bench/processor.hpp"
#include "bench/subject.hpp"
#include "epoch/options.hpp"
#include "index/masstree/record.hpp"
#include "persist/medium.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

namespace hf::bench {

namespace {

// The options as given, before they are interpreted.
struct raw {
    std::string workloads;
    std::string distributions;
    std::string compare;
    std::string discipline;
    std::string index;
    std::string records;
    std::string operations;
    std::string epoch;
    std::string latency;
    std::string huge = "auto";
    std::string directory;
    std::string json;
    std::string threads;
    unsigned repetitions = 5;
    u32 value_size = 8;
    u64 seed = 1;
    u64 log_entries = 80'000;
};

u32 latency(const std::string& text) {
    if (const auto preset = latency_preset(text)) return *preset;
    if (text.find_first_not_of("0123456789") != std::string::npos) {
        refuse("--latency", text, "choose dram, pcm, sttm or 0 to 1000 (nanoseconds)");
    }
    return static_cast<u32>(number("--latency", text, 0, 1000));
}

/// The names of the list; an error if one is not among `known`.
std::vector<std::string> chosen(const std::string& option, const std::string& list,
                                const std::vector<std::string>& among) {
    return names<std::string>(
        option, list,
        [&](const std::string& name) -> std::optional<std::string> {
            if (std::find(among.begin(), among.end(), name) == among.end()) return std::nullopt;
            return name;
        },
        fmt::format("{}", fmt::join(among, ", ")));
}

/// The subjects of --index and --discipline: all combinations.
std::vector<std::string> subjects_of(const std::string& indexes, const std::string& in) {
    const auto of =
        chosen("--discipline", in.empty() ? "transient,eager" : in, {"eager", "transient"});
    std::vector<std::string> all;
    for (const std::string& index : chosen("--index", indexes, eager_index_names())) {
        for (const std::string& d : of) {
            std::string both = index;
            all.push_back(both.append("-").append(d));
        }
    }
    return all;
}

/// Either only eager indexes, or one checkpointed tree.
bool has_recovery(const std::vector<std::string>& subjects) {
    if (subjects.front() == "incll" || subjects.front() == "logged") return true;
    return std::all_of(subjects.begin(), subjects.end(),
                       [](const std::string& name) { return name.ends_with("-eager"); });
}

/// Parses a list of values with `one`; only `ycsb` accepts more than one.
template <class One>
auto values(const std::string& option, const std::string& list, const options& o, One one) {
    std::vector<decltype(one(list))> found;
    for (const std::string& text : split(option, list)) found.push_back(one(text));
    if (o.what != measurement_kind::ycsb && found.size() != 1) {
        refuse(option, list, "name one number");
    }
    return found;
}

void translate(const raw& r, options& o) {
    if (!r.workloads.empty()) {
        o.workloads = names<workload>("--workloads", r.workloads, workload_of, "A, B, C, E, load");
    }
    if (!r.distributions.empty()) {
        o.distributions = names<distribution>("--distributions", r.distributions, distribution_of,
                                              "uniform, zipfian");
    }
    if (!r.compare.empty()) o.disciplines = chosen("--compare", r.compare, subject_names());
    if (!r.index.empty()) {
        if (!r.compare.empty()) refuse("--compare", r.compare, "leave it out beside --index");
        const bool crashes = o.what == measurement_kind::recovery && r.discipline.empty();
        o.disciplines = subjects_of(r.index, crashes ? "eager" : r.discipline);
    } else if (!r.discipline.empty()) {
        o.disciplines = chosen("--discipline", r.discipline, subject_names());
        if (o.disciplines.size() != 1) refuse("--discipline", r.discipline, "name one");
    }
    if (!r.records.empty()) {
        o.records.clear();
        for (const std::string& n : split("--records", r.records)) {
            o.records.push_back(number("--records", n, 1'000, most_records));
        }
        if (o.what != measurement_kind::recovery && o.records.size() != 1) {
            refuse("--records", r.records, "name one number");
        }
    }
    if (!r.operations.empty()) {
        o.operations = number("--operations", r.operations, 1'000, 1'000'000'000);
    }
    if (!r.epoch.empty()) {
        o.epochs.clear();
        for (const std::string& e : split("--epoch", r.epoch)) {
            o.epochs.push_back(duration("--epoch", e));
        }
        if (o.what == measurement_kind::ycsb && o.epochs.size() != 1) {
            refuse("--epoch", r.epoch, "name one duration");
        }
    }
    if (!r.latency.empty()) {
        o.fence_latencies_ns = values("--latency", r.latency, o, latency);
    }
    if (r.huge == "on") {
        o.huge = huge_pages::on;
    } else if (r.huge == "off") {
        o.huge = huge_pages::off;
    } else if (r.huge != "auto") {
        refuse("--huge-pages", r.huge, "choose auto, on or off");
    }
    o.threads = {static_cast<unsigned>(usable_cores().size())};
    if (!r.threads.empty()) {
        o.threads = values("--threads", r.threads, o, [](const std::string& text) {
            return static_cast<unsigned>(number("--threads", text, 1, 200));
        });
    }
    o.repetitions = r.repetitions;
    o.value_size = r.value_size;
    o.seed = r.seed;
    o.log_entries = r.log_entries;
    if (!r.directory.empty()) o.directory = r.directory;
    if (!r.json.empty()) o.json = r.json;
}

void add_common(CLI::App& verb, raw& r) {
    verb.add_option("--threads", r.threads,
                    "Threads that work (default: one a core); ycsb: or numbers of them");
    verb.add_option("--repetitions", r.repetitions, "Repetitions; medians are reported")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    verb.add_option("--latency", r.latency,
                    "Latency emulated after each fence: nanoseconds, pcm or sttm (default 0); "
                    "ycsb: or several");
    constexpr u64 most = largest_block - block_header_size - sizeof(masstree_detail::record);
    verb.add_option("--value-size", r.value_size, "Bytes of a value")
        ->check(CLI::Range(u64{0}, most))
        ->capture_default_str();
    verb.add_option("--seed", r.seed, "Seed of the operations")->capture_default_str();
    verb.add_option("--dir", r.directory, "Directory on tmpfs or a DAX mount for the region files");
    verb.add_option("--huge-pages", r.huge, "auto, on (or fail) or off")->capture_default_str();
    verb.add_option("--json", r.json, "File for all that was measured; - for standard output");
}

}  // namespace

result<std::optional<options>> parse_options(const std::vector<std::string>& arguments,
                                             std::string& help) {
    options o;
    raw r;
    compare_parser comparing;
    server_bench_parser serving;
    heap_bench_parser heaping;
    recipe_bench_parser cooking;
    layer_bench_parser layering;
    shadow_bench_parser shadowing;
    sections_bench_parser sectioning;
    CLI::App app("Measures the durable tree against itself without durability, and its peers.",
                 "holdfast bench");
    app.require_subcommand(1);
    app.footer(
        "Examples:\n"
        "  holdfast bench ycsb\n"
        "  holdfast bench ycsb --records 20M --compare transient,incll,logged --json all.json\n"
        "  holdfast bench ycsb --workloads C,E --compare transient,map,map-many,absl-btree\n"
        "  holdfast bench recovery --records 1M,8M --log-entries 80000\n"
        "  holdfast bench pause --records 20M --epoch 16,64\n"
        "  holdfast bench compare --dir data --json compare.json\n\n"
        "`holdfast bench VERB --help` lists a verb's options; docs/benchmarks.md explains all.");
    auto* ycsb = app.add_subcommand("ycsb", "Throughput and latency of the YCSB workloads");
    auto* recovery = app.add_subcommand("recovery", "From a crash to the first answer");
    auto* pause = app.add_subcommand("pause", "How long an epoch's end stops operations");
    CLI::App* compare = comparing.add_to(app);
    CLI::App* server = serving.add_to(app);
    CLI::App* heap = heaping.add_to(app);
    CLI::App* recipe = cooking.add_to(app);
    CLI::App* layers = layering.add_to(app);
    CLI::App* shadow = shadowing.add_to(app);
    CLI::App* sections = sectioning.add_to(app);
    ycsb->footer(
        "Every value that is read is compared with what was written; a difference ends the run\n"
        "with exit code 1. Ratios are to `transient`, of neighbouring repetitions.\n\n"
        "Examples:\n"
        "  holdfast bench ycsb --records 20M --compare transient,incll,logged --json all.json\n"
        "  holdfast bench ycsb --workloads E --compare transient,incll,map\n"
        "  holdfast bench ycsb --workloads C --compare transient,map,map-many --threads 1,2\n"
        "  holdfast bench ycsb --compare transient,incll,absl-btree,absl-hash\n"
        "  holdfast bench ycsb --index clht,art --discipline eager,transient");
    recovery->footer(
        "Examples:\n"
        "  holdfast bench recovery --log-entries 80000 --records 1M,8M\n"
        "  holdfast bench recovery --discipline logged --json recovery.json\n"
        "  holdfast bench recovery --index clht,art --records 10M --repetitions 3");
    pause->footer(
        "Examples:\n"
        "  holdfast bench pause --epoch 16,64,256\n"
        "  holdfast bench pause --records 20M --compare incll,map --latency pcm");
    add_common(*ycsb, r);
    add_common(*recovery, r);
    add_common(*pause, r);
    ycsb->add_option("--workloads", r.workloads, "A,B,C,E,load (default A,B,C,E)");
    for (CLI::App* verb : {ycsb, pause}) {
        verb->add_option("--distributions", r.distributions, "uniform,zipfian (default both)");
        verb->add_option("--operations", r.operations, "Operations of a thread (default 1M)");
        verb->add_option("--records", r.records, "Records in the tree (default 1M)");
        verb->add_option("--compare", r.compare,
                         "transient,logged,incll,malloc: trees; map,map-many,map-trusting,"
                         "map-inlined: the public map, by get, by get_many, by unverified get, "
                         "with small values in its leaves; "
                         "clht-eager, clht-many and of each other index: the index, by get, by "
                         "get_many; "
                         "absl-btree,absl-hash: Abseil's, in ordinary memory "
                         "(ycsb; default transient,incll)");
    }
    for (CLI::App* verb : {ycsb, recovery, pause}) {
        verb->add_option("--discipline", r.discipline, "Only this one; several beside --index");
    }
    const std::string indexes = fmt::format("{}", fmt::join(eager_index_names(), ","));
    ycsb->add_option("--index", r.index,
                     indexes +
                         ": eager indexes, in each --discipline of transient,eager; values "
                         "of 8 bytes take their path of integers");
    recovery->add_option("--index", r.index,
                         indexes + ": eager indexes, and how fast the sweep is");
    ycsb->add_option("--epoch", r.epoch, "Length of an epoch (default 64ms)");
    pause->add_option("--epoch", r.epoch, "Lengths of an epoch (default 16ms,64ms,256ms)");
    recovery->add_option("--records", r.records, "Numbers of records (default 1M,8M)");
    recovery->add_option("--log-entries", r.log_entries, "External-log entries to recover from")
        ->check(CLI::Range(u64{1}, u64{100'000'000}))
        ->capture_default_str();
    try {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
        app.parse(reversed);
        if (recovery->parsed()) {
            o.what = measurement_kind::recovery;
            o.records = {1'000'000, 8'000'000};
            o.disciplines = {"incll"};
        }
        if (pause->parsed()) {
            o.what = measurement_kind::pause;
            o.disciplines = {"incll"};
            o.epochs = {std::chrono::milliseconds(16), std::chrono::milliseconds(64),
                        std::chrono::milliseconds(256)};
            r.repetitions = pause->count("--repetitions") != 0 ? r.repetitions : 1;
        }
        if (compare->parsed()) {
            o.what = measurement_kind::compare;
            o.compare = comparing.translate();
            o.json = comparing.json();
            return o;
        }
        if (server->parsed()) {
            o.what = measurement_kind::server;
            o.server = serving.translate();
            o.json = serving.json();
            return o;
        }
        if (heap->parsed()) {
            o.what = measurement_kind::heap;
            o.heap = heaping.translate();
            o.json = heaping.json();
            return o;
        }
        if (recipe->parsed()) {
            o.what = measurement_kind::recipe;
            o.recipe = cooking.translate();
            o.json = cooking.json();
            return o;
        }
        if (layers->parsed()) {
            o.what = measurement_kind::layers;
            o.layers = layering.translate();
            o.json = layering.json();
            return o;
        }
        if (shadow->parsed()) {
            o.what = measurement_kind::shadow;
            o.shadow = shadowing.translate();
            o.json = shadowing.json();
            return o;
        }
        if (sections->parsed()) {
            o.what = measurement_kind::sections;
            o.sections = sectioning.translate();
            o.json = sectioning.json();
            return o;
        }
        translate(r, o);
    } catch (const CLI::CallForHelp& e) {
        std::ostringstream text;
        std::ostringstream none;
        app.exit(e, text, none);
        help = text.str();
        return std::nullopt;
    } catch (const CLI::ParseError& e) {
        const auto subcommands = app.get_subcommands({});
        const bool is_unknown =
            !arguments.empty() && !arguments[0].starts_with('-') &&
            std::none_of(subcommands.begin(), subcommands.end(),
                         [&](const CLI::App* verb) { return verb->check_name(arguments[0]); });
        return failure({errc::usage, "read the options", "holdfast bench",
                        is_unknown ? "there is no '" + arguments[0] + "'" : e.what(),
                        "see holdfast bench --help"});
    }
    if (o.what == measurement_kind::recovery && !has_recovery(o.disciplines)) {
        return failure({errc::usage, "measure recovery", "--discipline",
                        "it is not measured of " + o.disciplines[0],
                        "choose incll or logged, or eager beside --index"});
    }
    return o;
}

}  // namespace hf::bench
