#include "bench/heap/options.hpp"

#include "bench/heap/rival_library.hpp"
#include "bench/option_values.hpp"
#include "transaction/engine_kind.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace hf::bench {

namespace {

std::string all_of(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& n : names) list += (list.empty() ? "" : ",") + n;
    return list;
}

/// Names of commit engines.
const std::vector<std::string>& engine_names() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const engine_kind k : all_engines()) all.emplace_back(to_string(k));
        return all;
    }();
    return names;
}

}  // namespace

const std::vector<std::string>& heap_part_names() {
    static const std::vector<std::string> names{"small", "swaps",   "maps", "zipfian", "threads",
                                                "chase", "opening", "disk", "values"};
    return names;
}

struct heap_bench_parser::raw {
    heap_bench_options o;
    std::string engines = all_of(engine_names());
    std::string peers;
    std::string parts = all_of(heap_part_names());
    std::string elements = "1M";
    std::string array = "128M";
    std::string commits = "100K";
    std::string directory = "/dev/shm";
    std::string disk = ".";
    std::string json;
    unsigned milliseconds = 200;
};

heap_bench_parser::heap_bench_parser() : raw_(std::make_unique<raw>()) {}
heap_bench_parser::~heap_bench_parser() = default;

CLI::App* heap_bench_parser::add_to(CLI::App& bench) {
    raw& r = *raw_;
    CLI::App* verb =
        bench.add_subcommand("heap", "Transactions on objects, and who else does them");
    verb->footer(
        "All take turns at the same transactions, each of them durable when it returns, with\n"
        "cache lines written back on tmpfs as persistent memory would need it. What they answer\n"
        "is compared with what must be there. The table's end judges the targets.\n\n"
        "  holdfast bench heap --peers libpmemobj,bdb,lmdb --json heap.json\n"
        "  holdfast bench heap --parts swaps --array 1M --repetitions 9\n"
        "  holdfast bench heap --engine undo,redo,shadow\n\n"
        "How it is measured: docs/benchmarks.md.");
    verb->add_option("--peers", r.peers, "Of " + all_of(object_rival_names()) + " (default: none)");
    verb->add_option("--engine", r.engines,
                     "How Holdfast's own heaps commit, of " + all_of(engine_names()) +
                         ";\nthe first is compared with all others")
        ->capture_default_str();
    verb->add_option("--parts", r.parts,
                     "small: an empty transaction, one that reads, one that stores a field;\n"
                     "swaps: 1, 16, 256 swaps in an array; maps, zipfian: search, then insert or\n"
                     "remove; threads: two against one; chase: following pointers; opening:\n"
                     "behind a kill; disk: synchronous commits there; values: one of many is\n"
                     "overwritten in place")
        ->capture_default_str();
    verb->add_option("--elements", r.elements, "Elements of a map")->capture_default_str();
    verb->add_option("--array", r.array, "Elements of 8 bytes of the array")->capture_default_str();
    verb->add_option("--commits", r.commits, "Commits in the log of a heap that is opened")
        ->capture_default_str();
    verb->add_option("--round", r.milliseconds, "Milliseconds of a round")
        ->check(CLI::Range(1U, 60'000U))
        ->capture_default_str();
    verb->add_option("--repetitions", r.o.repetitions, "Rounds; medians are reported")
        ->check(CLI::Range(1U, 1000U))
        ->capture_default_str();
    verb->add_option("--seed", r.o.seed, "Seed of keys and places")->capture_default_str();
    verb->add_option("--dir", r.directory, "Directory for the files of all")->capture_default_str();
    verb->add_option("--disk", r.disk, "Directory on the disk that `disk` means")
        ->capture_default_str();
    verb->add_option("--json", r.json, "File for all that was measured; - for standard output");
    return verb;
}

heap_bench_options heap_bench_parser::translate() const {
    const raw& r = *raw_;
    heap_bench_options o = r.o;
    const auto peer_of = [](std::string_view name) -> std::optional<std::string> {
        const auto& all = object_rival_names();
        const auto at = std::find(all.begin(), all.end(), name);
        return at == all.end() ? std::nullopt : std::optional(*at);
    };
    const auto part_of = [](std::string_view name) -> std::optional<heap_part> {
        const auto& all = heap_part_names();
        const auto at = std::find(all.begin(), all.end(), name);
        if (at == all.end()) return std::nullopt;
        return static_cast<heap_part>(at - all.begin());
    };
    const auto engine_of = [](std::string_view name) -> std::optional<std::string> {
        const auto& all = engine_names();
        const auto at = std::find(all.begin(), all.end(), name);
        return at == all.end() ? std::nullopt : std::optional(*at);
    };
    o.engines = names<std::string>("--engine", r.engines, engine_of, all_of(engine_names()));
    if (!r.peers.empty()) {
        o.peers = names<std::string>("--peers", r.peers, peer_of, all_of(object_rival_names()));
    }
    o.parts = names<heap_part>("--parts", r.parts, part_of, all_of(heap_part_names()));
    o.elements = number("--elements", r.elements, 100, 100'000'000);
    o.array_bytes = 8 * number("--array", r.array, 1'000, 1'000'000'000);
    o.commits = number("--commits", r.commits, 1, 10'000'000);
    o.round = std::chrono::milliseconds(r.milliseconds);
    o.directory = r.directory;
    o.disk = r.disk;
    return o;
}

std::optional<std::string> heap_bench_parser::json() const {
    if (raw_->json.empty()) return std::nullopt;
    return raw_->json;
}

}  // namespace hf::bench
