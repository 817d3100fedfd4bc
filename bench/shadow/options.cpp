#include "bench/shadow/options.hpp"

#include "bench/option_values.hpp"
#include "bench/shadow/machines.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace hf::bench {

struct shadow_bench_parser::raw {
    shadow_bench_options o;
    std::string works = "sps,ht,rbt,bt";
    std::string spreads = "uniform,zipf:0.99";
    std::string at_once = "1";
    std::string machines = "osp,osp-stlb";
    std::string cores = "1";
    std::string bytes = "1G";
    std::string transactions = "100K";
    std::string warm_up = "100K";
    std::string record;
    std::string replay;
    std::string json;
};

shadow_bench_parser::shadow_bench_parser() : raw_(std::make_unique<raw>()) {}
shadow_bench_parser::~shadow_bench_parser() = default;

CLI::App* shadow_bench_parser::add_to(CLI::App& bench) {
    raw& r = *raw_;
    std::string machines;
    for (const named_machine& m : shadow_machines()) {
        machines += fmt::format("  {:<16} {}\n", m.name, m.what);
    }
    CLI::App* verb = bench.add_subcommand(
        "shadow", "Optimised shadow paging, simulated in hardware: flushes, misses, time");
    verb->footer("Machines:\n" + machines +
                 "\nLogs, undo and redo in all variants, are counted beside them.\n\n"
                 "  holdfast bench shadow --works bt --spreads uniform,zipf:1.5:ordered\n"
                 "  holdfast bench shadow --works ht --record ht.trace\n"
                 "  holdfast bench shadow --replay ht.trace --machines osp,lazy-16k\n\n"
                 "The paper's figures from it: ./dev figures shadow.");
    verb->add_option("--works", r.works, "sps: swaps; ht, rbt, bt: inserts and removes; none")
        ->capture_default_str();
    verb->add_option("--spreads", r.spreads,
                     "uniform, or zipf:EXPONENT, whose hot keys are neighbours with :ordered")
        ->capture_default_str();
    verb->add_option("--at-once", r.at_once, "Operations a transaction; several")
        ->capture_default_str();
    verb->add_option("--machines", r.machines, "Of those below")->capture_default_str();
    verb->add_option("--cores", r.cores, "1 to 4; several: transactions at the same time")
        ->capture_default_str();
    verb->add_option("--bytes", r.bytes, "Of each structure")->capture_default_str();
    verb->add_option("--node", r.o.node_bytes, "Bytes of a B-tree's node")
        ->check(CLI::IsMember({384U, 512U, 4096U}))
        ->capture_default_str();
    verb->add_option("--transactions", r.transactions, "That are counted")->capture_default_str();
    verb->add_option("--warm-up", r.warm_up, "Transactions before them")->capture_default_str();
    verb->add_option("--stack-pages", r.o.stack_pages, "Regular stores an operation, a page each")
        ->check(CLI::Range(0U, 64U))
        ->capture_default_str();
    verb->add_flag("--speed", r.o.measures_speed,
                   "Accesses a second that each machine simulates, and how much slower a\n"
                   "program runs that is simulated");
    verb->add_option("--aborts", r.o.aborts_in_1000,
                     "Synthetic transactions, so many of 1,000 of which abort")
        ->check(CLI::Range(0U, 1000U));
    verb->add_option("--seed", r.o.seed, "Seed of structures and keys")->capture_default_str();
    verb->add_option("--record", r.record, "Write the first work's accesses to this trace");
    verb->add_option("--replay", r.replay, "Simulate this trace");
    verb->add_option("--json", r.json, "File for all that was counted; - for standard output");
    return verb;
}

namespace {

std::optional<double> number_of(std::string_view text) {
    double found = 0;
    const auto done = std::from_chars(text.data(), text.data() + text.size(), found);
    if (done.ec != std::errc() || done.ptr != text.data() + text.size()) return std::nullopt;
    return found;
}

std::optional<key_spread> spread_of(std::string_view text) {
    key_spread s{std::string(text), 0, true};
    if (text == "uniform") return s;
    if (!text.starts_with("zipf:")) return std::nullopt;
    text.remove_prefix(5);
    if (text.ends_with(":ordered")) {
        s.is_scrambled = false;
        text.remove_suffix(8);
    }
    const auto theta = number_of(text);
    if (!theta || *theta <= 0 || *theta > 4) return std::nullopt;
    s.theta = *theta;
    return s;
}

template <class T>
std::vector<T> numbers(const std::string& option, const std::string& list, u64 least, u64 most) {
    std::vector<T> all;
    for (const std::string& one : split(option, list)) {
        all.push_back(static_cast<T>(number(option, one, least, most)));
    }
    return all;
}

}  // namespace

shadow_bench_options shadow_bench_parser::translate() const {
    const raw& r = *raw_;
    shadow_bench_options o = r.o;
    const auto& works = shadow_work_names();
    if (r.works != "none") {
        o.works = names<shadow_work>(
            "--works", r.works,
            [&](std::string_view name) -> std::optional<shadow_work> {
                const auto at = std::find(works.begin(), works.end(), name);
                if (at == works.end()) return std::nullopt;
                return static_cast<shadow_work>(at - works.begin());
            },
            fmt::format("{}, none", fmt::join(works, ", ")));
    }
    o.spreads = names<key_spread>(
        "--spreads", r.spreads, [](std::string_view name) { return spread_of(name); },
        "uniform, zipf:0.99, zipf:0.99:ordered (exponents above 0, up to 4)");
    o.machines = names<std::string>(
        "--machines", r.machines,
        [](const std::string& name) -> std::optional<std::string> {
            if (find_machine(name) == nullptr) return std::nullopt;
            return name;
        },
        "those that --help lists");
    o.at_once = numbers<u64>("--at-once", r.at_once, 1, 1000);
    o.cores = numbers<unsigned>("--cores", r.cores, 1, sim::max_cores);
    o.bytes = number("--bytes", r.bytes, 1 << 16, u64{64} << 30);
    o.transactions = number("--transactions", r.transactions, 1, 1'000'000'000);
    o.warm_up = number("--warm-up", r.warm_up, 0, 1'000'000'000);
    if (!r.record.empty()) o.record = r.record;
    if (!r.replay.empty()) o.replay = r.replay;
    return o;
}

std::optional<std::string> shadow_bench_parser::json() const {
    if (raw_->json.empty()) return std::nullopt;
    return raw_->json;
}

}  // namespace hf::bench
