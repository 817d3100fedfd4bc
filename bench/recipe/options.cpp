#include "bench/recipe/options.hpp"

#include "bench/option_values.hpp"
#include "bench/recipe/store.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace hf::bench {

namespace {

std::string joined(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ",") + n;
    return list;
}

std::vector<recipe_load> loads_of(const std::string& list) {
    auto all = names<recipe_load>("--workloads", list, recipe_load_of, recipe_load_names());
    // The other workloads read loaded records.
    if (std::find(all.begin(), all.end(), recipe_load::load) == all.end()) {
        all.push_back(recipe_load::load);
    }
    std::sort(all.begin(), all.end());
    return all;
}

}  // namespace

struct recipe_bench_parser::raw {
    recipe_bench_options o;
    std::string stores = "clht-eager,hot-eager,art-eager,bwtree-eager,masstree-eager";
    std::string keys = "integer,string";
    std::string loads = recipe_load_names();
    std::string spreads = "uniform,zipfian";
    std::string threads = "1,2";
    std::string records = "1M";
    std::string operations;
    std::string huge = "auto";
    std::string directory;
    std::string json;
};

recipe_bench_parser::recipe_bench_parser() : raw_(std::make_unique<raw>()) {}
recipe_bench_parser::~recipe_bench_parser() = default;

CLI::App* recipe_bench_parser::add_to(CLI::App& bench) {
    raw& r = *raw_;
    CLI::App* verb =
        bench.add_subcommand("recipe", "YCSB as in RECIPE's evaluation, and who else does it");
    verb->footer(
        "All take turns: each repetition makes a new store, loads it, and runs the workloads on\n"
        "it. Every value that is read is compared with its key; a difference ends the run with\n"
        "exit code 1. Peers' files lie in the same memory as Holdfast's regions.\n\n"
        "  holdfast bench recipe --workloads load,A,C,E --distributions uniform --json all.json\n"
        "  holdfast bench recipe --stores art-eager,map,lmdb,lmdb-sync --keys string\n\n"
        "How it is measured: docs/benchmarks.md.");
    verb->add_option("--stores", r.stores, "Of " + joined(recipe_store_names()))
        ->capture_default_str();
    verb->add_option("--keys", r.keys, "integer: 8 bytes; string: 24 bytes")->capture_default_str();
    verb->add_option("--workloads", r.loads,
                     "What A, B, D and E write are inserts, as in RECIPE's driver; A-update and\n"
                     "B-update overwrite, as YCSB does; miss looks for what is not there")
        ->capture_default_str();
    verb->add_option("--distributions", r.spreads, "Of what is read; D and E have their own")
        ->capture_default_str();
    verb->add_option("--threads", r.threads, "Threads; several numbers are measured in turn")
        ->capture_default_str();
    verb->add_option("--records", r.records, "Records that are loaded")->capture_default_str();
    verb->add_option("--operations", r.operations,
                     "Operations of a workload (default: as many as records; C and miss have\n"
                     "four times as many, E a quarter)");
    verb->add_option("--repetitions", r.o.repetitions, "Repetitions; medians are reported")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    verb->add_option("--seed", r.o.seed, "Seed of what is drawn")->capture_default_str();
    verb->add_option("--huge-pages", r.huge, "auto, on or off")
        ->check(CLI::IsMember({"auto", "on", "off"}))
        ->capture_default_str();
    verb->add_option("--dir", r.directory, "A tmpfs (or DAX mount) for the files of all");
    verb->add_option("--json", r.json, "File for all that was measured; - for standard output");
    return verb;
}

recipe_bench_options recipe_bench_parser::translate() const {
    const raw& r = *raw_;
    recipe_bench_options o = r.o;
    const auto store_of = [](std::string_view name) -> std::optional<std::string> {
        const auto& all = recipe_store_names();
        const auto at = std::find(all.begin(), all.end(), name);
        return at == all.end() ? std::nullopt : std::optional(*at);
    };
    o.stores = names<std::string>("--stores", r.stores, store_of, joined(recipe_store_names()));
    o.keys = names<recipe_keys>("--keys", r.keys, recipe_keys_of, "integer, string");
    o.loads = loads_of(r.loads);
    o.spreads =
        names<distribution>("--distributions", r.spreads, distribution_of, "uniform, zipfian");
    for (const std::string& text : split("--threads", r.threads)) {
        o.threads.push_back(static_cast<unsigned>(number("--threads", text, 1, 200)));
    }
    constexpr u64 least = 1000;
    o.records = number("--records", r.records, least, most_recipe_records / 4);
    o.operations = r.operations.empty()
                       ? o.records
                       : number("--operations", r.operations, least, most_recipe_records / 8);
    if (r.huge != "auto") o.huge = r.huge == "on" ? huge_pages::on : huge_pages::off;
    if (!r.directory.empty()) o.directory = r.directory;
    return o;
}

std::optional<std::string> recipe_bench_parser::json() const {
    if (raw_->json.empty()) return std::nullopt;
    return raw_->json;
}

}  // namespace hf::bench
