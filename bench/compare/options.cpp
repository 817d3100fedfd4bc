#include "bench/compare/options.hpp"

#include "bench/compare/peer_library.hpp"
#include "bench/compare/values.hpp"
#include "bench/option_values.hpp"
#include "bench/processor.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace hf::bench {

namespace {

constexpr u32 most_value_size = 4096;  // stores handle larger values in a different way
constexpr unsigned most_clients = 200;
constexpr unsigned longest_round = 3600;

std::vector<std::string> peers(const std::string& list) {
    if (list == "none") return {};
    const auto known = [](const std::string& name) -> std::optional<std::string> {
        const auto& all = peer_names();
        if (std::find(all.begin(), all.end(), name) == all.end()) return std::nullopt;
        return name;
    };
    return names<std::string>("--peers", list, known, "rocksdb, lmdb, lmdb-pwrite, or say none");
}

std::vector<workload> workloads(const std::string& list) {
    const auto known = [](const std::string& name) -> std::optional<workload> {
        const auto found = workload_of(name);
        const bool points = found && *found != workload::e && *found != workload::load;
        return points ? found : std::nullopt;
    };
    return names<workload>("--workloads", list, known, "A, B, C");
}

std::vector<acknowledge> acks(const std::string& text) {
    if (text == "behind") return {acknowledge::behind};
    if (text == "durable") return {acknowledge::durable};
    if (text != "both") refuse("--ack", text, "choose behind, durable or both");
    return {acknowledge::behind, acknowledge::durable};
}

}  // namespace

struct compare_parser::raw {
    compare_options o;
    std::string peers = "rocksdb,lmdb";
    std::string workloads = "A,B";
    std::string distributions = "zipfian";
    std::string records = "10M";
    std::string operations;
    std::string window = "64ms";
    std::string ack = "both";
    std::string directory = ".";
    std::string json;
    unsigned threads = 0;
    unsigned seconds = 10;
};

compare_parser::compare_parser() : raw_(std::make_unique<raw>()) {}
compare_parser::~compare_parser() = default;

std::string_view to_string(acknowledge a) noexcept {
    return a == acknowledge::behind ? "behind" : "durable";
}

CLI::App* compare_parser::add_to(CLI::App& bench) {
    raw& r = *raw_;
    CLI::App* verb = bench.add_subcommand("compare", "Holdfast on a disk against its peers there");
    verb->footer(
        "All stores are loaded with the same records on the same disk and take turns at the same\n"
        "operations. Every answer is checked; a store that answers wrongly ends the run. At the\n"
        "end stands a table of targets, met or not. All stores must fit into memory together.\n\n"
        "Examples:\n"
        "  holdfast bench compare --dir data --json compare.json\n"
        "  holdfast bench compare --peers none --records 1M --seconds 2 --ack behind\n\n"
        "Settings of the stores, and why: docs/benchmarks.md.");
    verb->add_option("--peers", r.peers, "rocksdb,lmdb,lmdb-pwrite; none: Holdfast's media only")
        ->capture_default_str();
    verb->add_option("--workloads", r.workloads, "A,B,C")->capture_default_str();
    verb->add_option("--distributions", r.distributions, "uniform,zipfian")->capture_default_str();
    verb->add_option("--ack", r.ack,
                     "behind: a write returns at once; durable: when it is durable; both")
        ->capture_default_str();
    verb->add_option("--window", r.window, "Behind by this at most: epochs, syncs of the peers")
        ->capture_default_str();
    verb->add_option("--records", r.records, "Records in each store")->capture_default_str();
    verb->add_option("--value-size", r.o.value_size, "Bytes of a value")
        ->check(CLI::Range(least_value_size, most_value_size))
        ->capture_default_str();
    verb->add_option("--threads", r.threads, "Clients of --ack behind (default: one a core)")
        ->check(CLI::Range(1U, most_clients));
    verb->add_option("--clients", r.o.clients, "Clients of --ack durable")
        ->check(CLI::Range(1U, most_clients))
        ->capture_default_str();
    CLI::Option* seconds = verb->add_option("--seconds", r.seconds, "Length of a round")
                               ->check(CLI::Range(1U, longest_round))
                               ->capture_default_str();
    verb->add_option("--operations", r.operations, "Operations of a client and round instead")
        ->excludes(seconds);
    verb->add_option("--repetitions", r.o.repetitions, "Repetitions; medians are reported")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    verb->add_option("--seed", r.o.seed, "Seed of the operations")->capture_default_str();
    verb->add_option("--dir", r.directory, "Directory on the disk that all stores are to use")
        ->capture_default_str();
    verb->add_flag("--check", r.o.check, "Exit with 1 if a target is not met");
    verb->add_option("--json", r.json, "File for all that was measured; - for standard output");
    return verb;
}

compare_options compare_parser::translate() const {
    const raw& r = *raw_;
    compare_options o = r.o;
    o.peers = peers(r.peers);
    o.workloads = workloads(r.workloads);
    o.distributions = names<distribution>("--distributions", r.distributions, distribution_of,
                                          "uniform, zipfian");
    o.acks = acks(r.ack);
    o.window = duration("--window", r.window);
    o.records = number("--records", r.records, 1'000, most_records);
    if (!r.operations.empty()) {
        o.operations = number("--operations", r.operations, 100, 1'000'000'000);
    }
    o.round = std::chrono::seconds(r.seconds);
    o.threads = r.threads != 0 ? r.threads : static_cast<unsigned>(usable_cores().size());
    o.directory = r.directory;
    return o;
}

std::optional<std::string> compare_parser::json() const {
    if (raw_->json.empty()) return std::nullopt;
    return raw_->json;
}

}  // namespace hf::bench
