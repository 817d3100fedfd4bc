#include "bench/compare/targets.hpp"

#include "bench/compare/entrant.hpp"
#include "bench/quantile.hpp"
#include "bench/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace hf::bench {

namespace {

struct wanted_ratio {
    acknowledge ack;
    std::string_view to;
    double least;
};
constexpr wanted_ratio wanted_ratios[] = {{acknowledge::behind, "rocksdb", 10},
                                          {acknowledge::behind, "lmdb", 5},
                                          {acknowledge::behind, "lmdb-pwrite", 5},
                                          {acknowledge::behind, in_memory, 0.75},
                                          {acknowledge::durable, "rocksdb", 1}};
constexpr double longest_p999_us = 1000;

void add_ratios(const cell& c, const comparison_results& r, std::vector<target>& all) {
    for (const wanted_ratio& w : wanted_ratios) {
        const auto at = std::find(r.entrants.begin(), r.entrants.end(), w.to);
        if (c.ack != w.ack || at == r.entrants.end()) continue;
        const auto& other = c.of_entrant[static_cast<std::size_t>(at - r.entrants.begin())];
        const auto ratios = pairwise_ratios(throughputs(c.of_entrant.front()), throughputs(other));
        if (ratios.empty()) continue;
        all.push_back({fmt::format("{} {} {}: {} to {}", to_string(c.work), to_string(c.spread),
                                   to_string(c.ack), ours, w.to),
                       median(ratios), w.least});
    }
}

}  // namespace

std::vector<target> targets_of(const comparison_results& r) {
    std::vector<target> all;
    for (const cell& c : r.cells) {
        if (c.work != workload::a) continue;
        add_ratios(c, r, all);
        if (c.ack != acknowledge::behind || c.of_entrant.front().empty()) continue;
        const u64 ns = latencies(c.of_entrant.front()).percentile(99.9);
        all.push_back({fmt::format("{} {} {}: {} p99.9 us", to_string(c.work), to_string(c.spread),
                                   to_string(c.ack), ours),
                       static_cast<double>(ns) / 1e3, longest_p999_us, false});
    }
    return all;
}

void report_targets(const std::vector<target>& all, std::ostream& out, nlohmann::json& json) {
    table t({"target", "measured", "wanted", ""});
    json["targets"] = nlohmann::json::array();
    bool met = !all.empty();
    for (const target& one : all) {
        met = met && one.met();
        t.add({one.what, fixed(one.measured, 2),
               fmt::format("{} {}", one.at_least ? ">=" : "<", fixed(one.wanted, 2)),
               one.met() ? "met" : "NOT met"});
        json["targets"].push_back({{"target", one.what},
                                   {"measured", one.measured},
                                   {"wanted", one.wanted},
                                   {"at least", one.at_least},
                                   {"met", one.met()}});
    }
    json["targets met"] = met;
    if (all.empty()) return;
    out << "#\n";
    t.print(out, 1);
}

}  // namespace hf::bench
