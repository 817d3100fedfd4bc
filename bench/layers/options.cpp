#include "bench/layers/options.hpp"

#include "bench/heap/rival_library.hpp"
#include "bench/option_values.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hf::bench {

const std::vector<std::string>& layer_part_names() {
    static const std::vector<std::string> names{"table",  "sizes",   "works",
                                                "safety", "systems", "cache"};
    return names;
}

struct layer_bench_parser::raw {
    layer_bench_options o;
    std::string peers;
    std::string parts = fmt::format("{}", fmt::join(layer_part_names(), ","));
    std::string elements = "1M";
    std::string items = "100K";
    std::string vertices = "10K";
    std::string graph = "1024";
    std::string rounds = "100K";
    std::string directory = "/dev/shm";
    std::string disk = ".";
    std::string json;
    unsigned milliseconds = 100;
};

layer_bench_parser::layer_bench_parser() : raw_(std::make_unique<raw>()) {}
layer_bench_parser::~layer_bench_parser() = default;

CLI::App* layer_bench_parser::add_to(CLI::App& bench) {
    raw& r = *raw_;
    const std::string peers = fmt::format("{}", fmt::join(object_rival_names(), ","));
    CLI::App* verb =
        bench.add_subcommand("layers", "The NV-heaps paper's workloads, on each of its layers");
    verb->footer(
        "base, safe, tx, c-tx and nodur are the layers of the paper (holdfast/nv/layers.hpp);\n"
        "sttm and pcm add their write times to every fence. All take turns in one run.\n\n"
        "  holdfast bench layers --peers libpmemobj,bdb,lmdb --json layers.json\n"
        "  holdfast bench layers --parts table\n\n"
        "The paper's figures from it: ./dev figures nv-heaps.");
    verb->add_option(
            "--parts", r.parts,
            "table: single operations; sizes: swaps a transaction; works: durable or not;\n"
            "safety: layer by layer; systems: peers, on tmpfs and on the disk; cache:\n"
            "memcached's load")
        ->capture_default_str();
    verb->add_option("--peers", r.peers, "Of " + peers + " (default: none)");
    verb->add_option("--elements", r.elements, "Elements of maps and arrays")
        ->capture_default_str();
    verb->add_option("--items", r.items, "Items of the cache")->capture_default_str();
    verb->add_option("--vertices", r.vertices, "Vertices of SixDegs")->capture_default_str();
    verb->add_option("--graph", r.graph, "Vertices of SSCA's graph")->capture_default_str();
    verb->add_option("--threads", r.o.threads, "Most threads; 0: one a core, up to 8")
        ->check(CLI::Range(0U, 64U))
        ->capture_default_str();
    verb->add_flag("--zipfian", r.o.is_zipfian, "Skewed keys, theta .99");
    verb->add_option("--round", r.milliseconds, "Milliseconds of a round")
        ->check(CLI::Range(1U, 60'000U))
        ->capture_default_str();
    verb->add_option("--repetitions", r.o.repetitions, "Rounds; medians are reported")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    verb->add_option("--operations", r.rounds, "Of each row of the table")->capture_default_str();
    verb->add_option("--seed", r.o.seed, "Seed of structures and keys")->capture_default_str();
    verb->add_option("--dir", r.directory, "Directory for the files of all")->capture_default_str();
    verb->add_option("--disk", r.disk, "Directory on a disk, for `systems`")->capture_default_str();
    verb->add_option("--json", r.json, "File for all that was measured; - for standard output");
    return verb;
}

layer_bench_options layer_bench_parser::translate() const {
    const raw& r = *raw_;
    layer_bench_options o = r.o;
    const auto index_of = [](const std::vector<std::string>& all, std::string_view name) {
        return static_cast<std::size_t>(std::find(all.begin(), all.end(), name) - all.begin());
    };
    const auto& all_parts = layer_part_names();
    const auto& all_peers = object_rival_names();
    o.parts = names<layer_part>(
        "--parts", r.parts,
        [&](std::string_view name) -> std::optional<layer_part> {
            const std::size_t i = index_of(all_parts, name);
            if (i == all_parts.size()) return std::nullopt;
            return static_cast<layer_part>(i);
        },
        fmt::format("{}", fmt::join(all_parts, ",")));
    if (!r.peers.empty()) {
        o.peers = names<std::string>(
            "--peers", r.peers,
            [&](std::string_view name) -> std::optional<std::string> {
                const std::size_t i = index_of(all_peers, name);
                return i == all_peers.size() ? std::nullopt : std::optional(all_peers[i]);
            },
            fmt::format("{}", fmt::join(all_peers, ",")));
    }
    o.elements = number("--elements", r.elements, 100, 100'000'000);
    o.items = number("--items", r.items, 10, 10'000'000);
    o.vertices = number("--vertices", r.vertices, 10, 10'000'000);
    o.graph = number("--graph", r.graph, 2, 1'000'000);
    o.rounds = number("--operations", r.rounds, 100, 100'000'000);
    o.round = std::chrono::milliseconds(r.milliseconds);
    o.directory = r.directory;
    o.disk = r.disk;
    return o;
}

std::optional<std::string> layer_bench_parser::json() const {
    if (raw_->json.empty()) return std::nullopt;
    return raw_->json;
}

}  // namespace hf::bench
