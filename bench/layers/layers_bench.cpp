// `holdfast bench layers`: the measurements of the NV-heaps paper (Coburn et al., ASPLOS 2011,
// section 5); each part is a table or figure of it.
#include "base/clock.hpp"
#include "bench/heap/rival_library.hpp"
#include "bench/layers/contestant.hpp"
#include "bench/processor.hpp"
#include "bench/quantile.hpp"
#include "bench/run.hpp"
#include "bench/table.hpp"
#include "persist/counters.hpp"
#include "persist/medium.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <thread>

namespace hf::bench {

namespace {

using entries = std::vector<entry_of_figure>;

constexpr const char* dram = "dram";

constexpr work_kind paper_works[] = {work_kind::sps,       work_kind::six_degrees,
                                     work_kind::b_tree,    work_kind::hash_table,
                                     work_kind::red_black, work_kind::ssca};

/// The parameters of a row of the results.
struct point {
    std::string part;
    work_kind work;
    u64 swaps = 1;
    unsigned threads = 1;
};

class layers_measurement {
   public:
    layers_measurement(const layer_bench_options& o, std::ostream& out, nlohmann::json& json)
        : o_(o), out_(out), json_(json), threads_(o.threads) {
        constexpr unsigned most = 8;
        if (threads_ == 0) {
            threads_ = std::min<unsigned>(most, static_cast<unsigned>(usable_cores().size()));
        }
        json_["rates"] = nlohmann::json::array();
        json_["table"] = nlohmann::json::array();
        json_["left out"] = nlohmann::json::object();
        for (const std::string& p : o_.peers) find_peer(p);
    }

    void run() {
        out_ << "elements " << o_.elements << ", items " << o_.items << ", vertices " << o_.vertices
             << " and " << o_.graph << ", " << o_.repetitions << " rounds of " << o_.round.count()
             << " ms, up to " << threads_ << " threads, " << (o_.is_zipfian ? "zipfian" : "uniform")
             << ", seed " << o_.seed << ", files in " << o_.directory.string() << "\n\n";
        json_["options"] = {{"elements", o_.elements},  {"items", o_.items},
                            {"vertices", o_.vertices},  {"graph", o_.graph},
                            {"threads", threads_},      {"repetitions", o_.repetitions},
                            {"zipfian", o_.is_zipfian}, {"round_ms", o_.round.count()},
                            {"seed", o_.seed},          {"directory", o_.directory.string()}};
        const std::pair<layer_part, std::function<void()>> parts[] = {
            {layer_part::table, [this] { table_of_operations(); }},
            {layer_part::sizes, [this] { sizes(); }},
            {layer_part::works, [this] { works(); }},
            {layer_part::safety, [this] { safety(); }},
            {layer_part::systems, [this] { systems(); }},
            {layer_part::cache, [this] { cache(); }}};
        for (const auto& [part, measure_it] : parts) {
            if (std::find(o_.parts.begin(), o_.parts.end(), part) != o_.parts.end()) measure_it();
        }
        operations_.print(out_, 3);
        out_ << '\n';
        rates_.print(out_, 4);
    }

   private:
    /// A peer whose module is missing is left out.
    void find_peer(const std::string& name) {
        object_options small;
        small.directory = work_options_for(o_, {name, dram}, work_kind::b_tree, 1).directory;
        small.elements = 100;
        small.bytes = u64{64} << 20;
        std::filesystem::create_directories(small.directory);
        auto opened = open_rival(name, small);
        if (opened) {
            opened->reset();
            peers_.push_back(name);
        } else if (opened.error().code == errc::not_found) {
            json_["left out"][name] = opened.error().to_string();
        }
        std::filesystem::remove_all(small.directory);
        if (!opened && opened.error().code != errc::not_found) {
            throw std::runtime_error(opened.error().to_string());
        }
    }

    // --- table 1 ---
    void table_of_operations() {
        const entries all{{"base", dram},      {"safe", dram},        {"tx", dram},
                          {"c-tx", dram},      {"c-tx", "sttm"},      {"c-tx", "pcm"},
                          {"c-tx undo", dram}, {"c-tx undo", "sttm"}, {"c-tx undo", "pcm"},
                          {"nodur", dram}};
        std::vector<std::vector<std::vector<operation_time>>> found(all.size());
        for (unsigned i = 0; i < o_.repetitions; ++i) {
            for (std::size_t k = 0; k < all.size(); ++k) {
                say_progress("table", all[k], i);
                const work_options w = work_options_for(o_, all[k], work_kind::cache, 1);
                std::filesystem::create_directories(w.directory);
                found[k].push_back(time_operations(w, o_.rounds, 1));
                std::filesystem::remove_all(w.directory);
            }
        }
        for (std::size_t k = 0; k < all.size(); ++k) tell_operations(all[k], found[k]);
    }
    void tell_operations(const entry_of_figure& who,
                         const std::vector<std::vector<operation_time>>& runs) {
        for (std::size_t row = 0; row < runs.front().size(); ++row) {
            std::vector<double> ns;
            ns.reserve(runs.size());
            for (const auto& run : runs) ns.push_back(run[row].ns);
            const operation_time& first = runs.front()[row];
            operations_.add({first.operation, who.who, who.storage, std::to_string(first.at_once),
                             fixed(median(ns), 0)});
            json_["table"].push_back({{"operation", first.operation},
                                      {"at_once", first.at_once},
                                      {"who", who.who},
                                      {"storage", who.storage},
                                      {"ns", ns}});
        }
    }

    // --- figures 4 to 8 ---
    void sizes() {
        for (const u64 swaps : {1, 4, 16, 64, 256}) {
            auto all = ready_for("sizes", {{"c-tx", dram}, {"nodur", dram}}, work_kind::sps, swaps);
            for (unsigned t = 1; t <= threads_; ++t) {
                measure({"sizes", work_kind::sps, swaps, t}, all);
            }
            check(all);
        }
    }
    void works() {
        for (const work_kind work : paper_works) {
            auto all = ready_for("works",
                                 {{"nodur", dram},
                                  {"c-tx", dram},
                                  {"c-tx", "sttm"},
                                  {"c-tx", "pcm"},
                                  {"c-tx undo", dram}},
                                 work, 1);
            for (unsigned t = 1; t <= threads_; t *= 2) measure({"works", work, 1, t}, all);
            check(all);
        }
    }
    void safety() {
        for (const work_kind work : paper_works) {
            auto all = ready_for(
                "safety", {{"base", dram}, {"safe", dram}, {"tx", dram}, {"c-tx", dram}}, work, 1);
            for (unsigned t = 1; t <= threads_; t *= 2) measure({"safety", work, 1, t}, all);
            check(all);
        }
    }
    void systems() {
        entries there{{"c-tx", dram}, {"c-tx", "sttm"}, {"c-tx", "pcm"}, {"c-tx", "disk"}};
        for (const std::string& p : peers_) {
            there.push_back({p, dram});
            if (p != "libpmemobj") there.push_back({p, "disk"});  // it has no disk version
        }
        for (const work_kind work : {work_kind::b_tree, work_kind::hash_table, work_kind::sps}) {
            auto all = ready_for("systems", there, work, 1);
            measure({"systems", work}, all);
            check(all);
        }
    }
    void cache() {
        entries there{
            {"malloc", dram}, {"c-tx", dram}, {"nodur", dram}, {"c-tx", "sttm"}, {"c-tx", "pcm"}};
        if (std::find(peers_.begin(), peers_.end(), "bdb") != peers_.end()) {
            there.push_back({"bdb", dram});
            there.push_back({"bdb fast", dram});
        }
        auto all = ready_for("cache", there, work_kind::cache, 1);
        measure({"cache", work_kind::cache}, all);
        check(all);
    }

    // --- one row ---
    std::vector<layer_contestant> ready_for(const std::string& part, const entries& names,
                                            work_kind work, u64 swaps) {
        std::vector<layer_contestant> all;
        for (const entry_of_figure& who : names) {
            if (!layer_contestant::does(who, work)) continue;
            if (interrupted()) throw std::runtime_error("interrupted");
            progress(fmt::format("{}: {} on {} makes its {}", part, who.who, who.storage,
                                 name_of(work)));
            all.emplace_back(o_, who, work, swaps);
            all.back().make();
        }
        return all;
    }
    static void check(std::vector<layer_contestant>& all) {
        for (layer_contestant& c : all) {
            const std::string wrong = c.complaints();
            if (!wrong.empty()) throw std::runtime_error(c.name().who + ": " + wrong);
        }
    }
    u64 work_for(layer_contestant& c, const zipfian* skewed, u64 seed, u64 ns) const {
        xoshiro256ss random(seed);
        const u64 until = now_ns() + ns;
        u64 done = 0;
        do {
            c.step(random, skewed);
            ++done;
        } while (now_ns() < until);
        return done;
    }
    double round(const point& p, layer_contestant& c, u64 seed, u64 ns) const {
        const u64 items = p.work == work_kind::six_degrees ? o_.vertices
                          : p.work == work_kind::sps       ? o_.elements
                          : p.work == work_kind::cache     ? 2 * o_.items
                                                           : 2 * o_.elements;
        const zipfian skewed(items);
        std::vector<u64> done(p.threads);
        std::vector<std::string> wrong(p.threads);
        const auto work = [&](unsigned t) {
            try {
                done[t] = work_for(c, o_.is_zipfian ? &skewed : nullptr, seed * p.threads + t, ns);
            } catch (const std::exception& e) {
                wrong[t] = e.what();
            }
        };
        const u64 start = now_ns();
        std::vector<std::thread> others;
        for (unsigned t = 1; t < p.threads; ++t) others.emplace_back(work, t);
        work(0);
        for (std::thread& t : others) t.join();
        const auto took = static_cast<double>(now_ns() - start);
        for (const std::string& w : wrong) {
            if (!w.empty()) throw std::runtime_error(c.name().who + ": " + w);
        }
        return static_cast<double>(std::accumulate(done.begin(), done.end(), u64{0})) * 1e9 / took;
    }
    void measure(const point& p, std::vector<layer_contestant>& all) {
        const auto ns = static_cast<u64>(o_.round.count()) * 1'000'000;
        std::vector<std::vector<double>> rates(all.size());
        for (unsigned i = 0; i <= o_.repetitions; ++i) {  // the first is a warm-up
            for (std::size_t k = 0; k < all.size(); ++k) {
                if (p.threads > 1 && !all[k].has_threads()) continue;
                if (interrupted()) throw std::runtime_error("interrupted");
                say_progress(fmt::format("{}: {}, {} threads", p.part, name_of(p.work), p.threads),
                             all[k].name(), i);
                const double rate = round(p, all[k], o_.seed + i, i == 0 ? ns / 4 : ns);
                if (i != 0) rates[k].push_back(rate);
            }
        }
        for (std::size_t k = 0; k < all.size(); ++k) {
            if (!rates[k].empty()) tell(p, all[k].name(), rates[k]);
        }
    }
    void tell(const point& p, const entry_of_figure& who, const std::vector<double>& rates) {
        rates_.add({p.part, name_of(p.work), who.who, who.storage, std::to_string(p.swaps),
                    std::to_string(p.threads), fixed(median(rates), 0)});
        json_["rates"].push_back({{"part", p.part},
                                  {"work", name_of(p.work)},
                                  {"who", who.who},
                                  {"storage", who.storage},
                                  {"swaps", p.swaps},
                                  {"threads", p.threads},
                                  {"operations per second", rates}});
    }
    static const std::string& name_of(work_kind work) {
        return work_names()[static_cast<std::size_t>(work)];
    }
    void say_progress(const std::string& what, const entry_of_figure& who, unsigned i) const {
        progress(
            fmt::format("{}: {} on {}, {} of {}", what, who.who, who.storage, i, o_.repetitions));
    }

    const layer_bench_options& o_;
    std::ostream& out_;
    nlohmann::json& json_;
    unsigned threads_;
    std::vector<std::string> peers_;  ///< the available ones
    table operations_{{"operation", "layer", "storage", "in a transaction", "ns"}};
    table rates_{{"part", "work", "who", "storage", "swaps", "threads", "operations/s"}};
};

}  // namespace

result<void> run_layers(const options& o, std::ostream& out, nlohmann::json& json) {
    describe_machine(out, json);
    try {
        layers_measurement(o.layers, out, json).run();
    } catch (const std::exception& e) {
        return failure(
            {errc::io, "measure the layers", o.layers.directory.string(), e.what(),
             "look at the space that is left there, or choose less: --elements, --vertices"});
    }
    return {};
}

}  // namespace hf::bench
