#include "bench/server/options.hpp"

#include "bench/option_values.hpp"

#include <CLI/CLI.hpp>

#include <array>
#include <string_view>

namespace hf::bench {

namespace {

constexpr unsigned most_depth = 1024;
constexpr unsigned most_connections = 1000;
constexpr unsigned most_threads = 200;
constexpr u32 most_value_bytes = 16384;
constexpr std::array<std::string_view, 4> errand_names{"get", "set", "change", "mix"};

std::optional<errand> errand_of(std::string_view name) {
    for (std::size_t i = 0; i < errand_names.size(); ++i) {
        if (errand_names[i] == name) return static_cast<errand>(i);
    }
    return std::nullopt;
}

std::vector<unsigned> counts(const std::string& option, const std::string& list, unsigned most) {
    std::vector<unsigned> found;
    for (const std::string& one : split(option, list)) {
        found.push_back(static_cast<unsigned>(number(option, one, 1, most)));
    }
    return found;
}

}  // namespace

std::string_view to_string(errand e) noexcept { return errand_names[static_cast<std::size_t>(e)]; }

struct server_bench_parser::raw {
    server_bench_options o;
    std::string errands = "get,set,change,mix";
    std::string depths = "1,16";
    std::string connections = "2,8";
    std::string values = "8-100";
    std::string records = "1M";
    std::string operations;
    std::string directory = "/dev/shm";
    std::string json;
    unsigned milliseconds = 200;
};

server_bench_parser::server_bench_parser() : raw_(std::make_unique<raw>()) {}
server_bench_parser::~server_bench_parser() = default;

CLI::App* server_bench_parser::add_to(CLI::App& bench) {
    raw& r = *raw_;
    CLI::App* verb = bench.add_subcommand("server", "`holdfast serve` against memcached");
    verb->footer(
        "Both are started on this machine, loaded with the same records, and take turns at the\n"
        "same requests. Every byte of every answer is checked.\n\n"
        "  holdfast bench server --errands get,set --depths 16 --json server.json\n"
        "  holdfast bench server --peer old/holdfast       # against another build of itself\n\n"
        "How it is measured: docs/benchmarks.md.");
    verb->add_option("--program", r.o.program, "What is measured: a holdfast (default: this one)");
    verb->add_option("--peer", r.o.peer, "What it is compared with: a memcached or a holdfast")
        ->capture_default_str();
    verb->add_option("--errands", r.errands,
                     "get,set,mix (nine gets, one set); change: new records are set, then deleted")
        ->capture_default_str();
    verb->add_option("--depths", r.depths, "Requests that a client sends at once")
        ->capture_default_str();
    verb->add_option("--connections", r.connections, "Connections, of all clients together")
        ->capture_default_str();
    verb->add_option("--threads", r.o.threads, "Threads of each server")
        ->check(CLI::Range(1U, most_threads))
        ->capture_default_str();
    verb->add_option("--clients", r.o.clients, "Threads that send requests")
        ->check(CLI::Range(1U, most_threads))
        ->capture_default_str();
    verb->add_option("--records", r.records, "Records in each server")->capture_default_str();
    verb->add_option("--value-size", r.values, "Bytes of a value, or from-to")
        ->capture_default_str();
    CLI::Option* round = verb->add_option("--round", r.milliseconds, "Milliseconds of a round")
                             ->check(CLI::Range(10U, 60'000U))
                             ->capture_default_str();
    verb->add_option("--operations", r.operations, "Requests of a connection and round instead")
        ->excludes(round);
    verb->add_option("--repetitions", r.o.repetitions, "Repetitions; medians are reported")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    verb->add_option("--seed", r.o.seed, "Seed of the requests")->capture_default_str();
    verb->add_option("--dir", r.directory, "Directory for Holdfast's region")
        ->capture_default_str();
    verb->add_option("--json", r.json, "File for all that was measured; - for standard output");
    return verb;
}

server_bench_options server_bench_parser::translate() const {
    const raw& r = *raw_;
    server_bench_options o = r.o;
    o.errands = names<errand>("--errands", r.errands, errand_of, "get, set, change, mix");
    o.depths = counts("--depths", r.depths, most_depth);
    o.connections = counts("--connections", r.connections, most_connections);
    for (const unsigned n : o.connections) {
        if (n % o.clients != 0) {
            refuse("--connections", r.connections, "each of the --clients has as many");
        }
    }
    const auto dash = r.values.find('-');
    o.least_value =
        static_cast<u32>(number("--value-size", r.values.substr(0, dash), 1, most_value_bytes));
    o.most_value = dash == std::string::npos
                       ? o.least_value
                       : static_cast<u32>(number("--value-size", r.values.substr(dash + 1),
                                                 o.least_value, most_value_bytes));
    o.records = number("--records", r.records, 1'000, 100'000'000);
    if (!r.operations.empty()) {
        o.operations = number("--operations", r.operations, 1, 1'000'000'000);
    }
    o.round = std::chrono::milliseconds(r.milliseconds);
    o.directory = r.directory;
    return o;
}

std::optional<std::string> server_bench_parser::json() const {
    if (raw_->json.empty()) return std::nullopt;
    return raw_->json;
}

}  // namespace hf::bench
