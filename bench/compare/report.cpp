#include "bench/compare/report.hpp"

#include "bench/compare/entrant.hpp"
#include "bench/quantile.hpp"
#include "bench/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace hf::bench {

std::vector<double> throughputs(const std::vector<sample>& samples) {
    std::vector<double> all;
    for (const sample& s : samples) all.push_back(s.round.throughput());
    return all;
}

histogram latencies(const std::vector<sample>& samples) {
    histogram all;
    for (const sample& s : samples) all.merge(s.round.all_ns());
    return all;
}

std::vector<double> amplifications(const std::vector<sample>& samples, u32 value_size) {
    std::vector<double> all;
    for (const sample& s : samples) {
        if (s.all_puts == 0) continue;
        all.push_back(static_cast<double>(s.storage_bytes) /
                      static_cast<double>(s.all_puts * value_size));
    }
    return all;
}

u64 own_bytes(const contender::counts& counted) {
    for (const auto& [name, value] : counted) {
        if (name == "written bytes") return value;
    }
    return 0;
}

namespace {

std::string micro(u64 ns, int digits = 1) { return fixed(static_cast<double>(ns) / 1e3, digits); }

std::string or_dash(const std::vector<double>& values, int digits) {
    return values.empty() ? "-" : fixed(median(values), digits);
}

nlohmann::json latency_json(const histogram& h) {
    return {{"operations", h.count()}, {"p50", h.percentile(50)},     {"p99", h.percentile(99)},
            {"max", h.max()},          {"p99.9", h.percentile(99.9)}, {"mean", h.mean()}};
}

nlohmann::json sample_json(const sample& s) {
    nlohmann::json j = {{"gets", s.round.gets},
                        {"puts", s.round.puts},
                        {"seconds", s.round.seconds},
                        {"sync seconds", s.round.sync_seconds},
                        {"client cpu seconds", s.round.cpu_seconds},
                        {"ops/s", s.round.throughput()},
                        {"puts with warm-up", s.all_puts},
                        {"memory bytes", s.memory_bytes},
                        {"storage bytes", s.storage_bytes},
                        {"get ns", latency_json(s.round.get_ns)},
                        {"put ns", latency_json(s.round.put_ns)}};
    for (const auto& [name, value] : s.counted) j["counted"][name] = value;
    return j;
}

std::vector<double> own_amplifications(const std::vector<sample>& samples, u32 value_size) {
    std::vector<double> all;
    for (const sample& s : samples) {
        const u64 own = own_bytes(s.counted);
        if (own == 0 || s.all_puts == 0) continue;
        all.push_back(static_cast<double>(own) / static_cast<double>(s.all_puts * value_size));
    }
    return all;
}

/// All repetitions, so that the median can be judged.
std::string each_mops(const std::vector<double>& speeds) {
    std::string all;
    for (const double s : speeds) all += (all.empty() ? "" : " ") + fixed(s / 1e6, 3);
    return all;
}

void add_row(const cell& c, std::size_t which, const comparison_results& r, u32 value_size,
             table& t, nlohmann::json& results) {
    const auto& samples = c.of_entrant[which];
    const auto speeds = throughputs(samples);
    const auto ratios = pairwise_ratios(throughputs(c.of_entrant.front()), speeds);
    const histogram ns = latencies(samples);
    t.add({std::string(to_string(c.work)), std::string(to_string(c.spread)),
           std::string(to_string(c.ack)), r.entrants[which], fixed(median(speeds) / 1e6, 4),
           or_dash(ratios, 2), fixed(quantile(ratios, 0), 2), fixed(quantile(ratios, 1), 2),
           micro(ns.percentile(50), 2), micro(ns.percentile(99)), micro(ns.percentile(99.9)),
           micro(ns.max(), 0), or_dash(amplifications(samples, value_size), 2),
           or_dash(own_amplifications(samples, value_size), 2),
           fmt::format("{}", samples.back().memory_bytes >> 20), each_mops(speeds)});
    nlohmann::json j = {{"workload", to_string(c.work)},
                        {"distribution", to_string(c.spread)},
                        {"ack", to_string(c.ack)},
                        {"store", r.entrants[which]},
                        {"ops/s", median(speeds)},
                        {"ratio", median(ratios)},
                        {"bytes per byte", median(amplifications(samples, value_size))},
                        {"latency ns", latency_json(ns)}};
    for (const sample& s : samples) j["repetitions"].push_back(sample_json(s));
    for (const sample& s : c.running_in[which]) j["running in"].push_back(sample_json(s));
    results.push_back(std::move(j));
}

std::string milli(u64 ns) { return fixed(static_cast<double>(ns) / 1e6, 2); }

nlohmann::json lag_json(const lag& l) {
    nlohmann::json j = {{"first probe", l.first},
                        {"probes", l.probes},
                        {"landed", l.landed},
                        {"early", l.early},
                        {"at risk ns", latency_json(l.at_risk_ns)},
                        {"to land ns", latency_json(l.to_land_ns)},
                        {"acknowledged at ns", l.acknowledged_ns}};
    for (const landing& one : l.landings) j["landings"].push_back({one.ns, one.probe});
    return j;
}

void add_lag(const cell& c, const std::string& store, const lag& l, table& t) {
    std::vector<std::string> row = {
        std::string(to_string(c.work)), std::string(to_string(c.spread)),
        std::string(to_string(c.ack)),  store,
        fmt::format("{}", l.probes),    fmt::format("{}", l.early)};
    for (const histogram* h : {&l.at_risk_ns, &l.to_land_ns}) {
        for (const u64 ns : {h->percentile(50), h->percentile(99), h->max()}) {
            row.push_back(l.landed != 0 ? milli(ns) : "-");
        }
    }
    t.add(std::move(row));
}

}  // namespace

void report_loads(const comparison_results& r, u32 value_size, std::ostream& out,
                  nlohmann::json& json) {
    table t({"store", "load s", "settle s", "Mops/s", "B/B", "on disk MiB", "p99.9 us"});
    for (std::size_t i = 0; i < r.loads.size(); ++i) {
        const loading& l = r.loads[i];
        const double bytes = static_cast<double>(l.round.puts * value_size);
        t.add({r.entrants[i], fixed(l.round.seconds, 1), fixed(l.settle_seconds, 1),
               fixed(l.round.throughput() / 1e6, 4),
               fixed(bytes > 0 ? static_cast<double>(l.storage_bytes) / bytes : 0, 2),
               fmt::format("{}", l.occupied_bytes >> 20), micro(l.round.put_ns.percentile(99.9))});
        json["load"].push_back({{"store", r.entrants[i]},
                                {"puts", l.round.puts},
                                {"seconds", l.round.seconds},
                                {"settle seconds", l.settle_seconds},
                                {"storage bytes", l.storage_bytes},
                                {"occupied bytes", l.occupied_bytes},
                                {"put ns", latency_json(l.round.put_ns)}});
    }
    out << "#\n";
    t.print(out, 1);
}

void report_cells(const comparison_results& r, u32 value_size, std::ostream& out,
                  nlohmann::json& json) {
    table t({"load", "keys", "ack", "store", "Mops/s", "ratio", "min", "max", "p50 us", "p99",
             "p99.9", "max", "B/B", "own B/B", "MiB", "each"});
    json["results"] = nlohmann::json::array();
    for (const cell& c : r.cells) {
        for (std::size_t i = 0; i < r.entrants.size(); ++i) {
            // Interrupted before every store had its turn: no comparison is possible.
            if (!c.of_entrant[i].empty()) add_row(c, i, r, value_size, t, json["results"]);
        }
    }
    out << "#\n";
    t.print(out, 4);
    out << fmt::format(
        "# ratio: {} to this store, median (min, max) of the repetitions' ratios; B/B: bytes\n"
        "# written to storage for each byte of a value, by the kernel's count; own: by the\n"
        "# store's own; MiB: memory that it holds its data in, as it says (with Holdfast's "
        "hints);\n"
        "# each: Mops/s of each repetition\n",
        ours);
    out.flush();
}

void report_lags(const comparison_results& r, std::ostream& out, nlohmann::json& json) {
    table t({"load", "keys", "ack", "store", "probes", "early", "risk p50 ms", "p99", "max",
             "land p50 ms", "p99", "max"});
    json["durability"] = nlohmann::json::array();
    for (const cell& c : r.cells) {
        for (std::size_t i = 0; i < c.lags.size(); ++i) {
            add_lag(c, r.entrants[i], c.lags[i], t);
            nlohmann::json j = lag_json(c.lags[i]);
            j["workload"] = to_string(c.work);
            j["distribution"] = to_string(c.spread);
            j["ack"] = to_string(c.ack);
            j["store"] = r.entrants[i];
            json["durability"].push_back(std::move(j));
        }
    }
    if (json["durability"].empty()) return;
    out << "#\n";
    t.print(out, 4);
    out << "# risk: at a random instant, the age of the oldest write that a power cut would take;\n"
           "# land: from a write's acknowledgement to the end of the sync that made it durable;\n"
           "# early: writes acknowledged before that; -: no sync of this store was seen\n";
    out.flush();
}

}  // namespace hf::bench
