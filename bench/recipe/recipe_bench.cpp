// `holdfast bench recipe`: the workloads of RECIPE's evaluation, on Holdfast's stores and others.
#include "bench/environment.hpp"
#include "bench/quantile.hpp"
#include "bench/recipe/round.hpp"
#include "bench/run.hpp"
#include "bench/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <ostream>

namespace hf::bench {

namespace {

/// A row of the table: a store with a workload.
struct recipe_cell {
    std::string store;
    recipe_keys keys;
    unsigned threads;
    recipe_load kind;
    std::string spread;  ///< "-" if no records are drawn
    std::vector<recipe_round> rounds;
};

class recipe_run {
   public:
    recipe_run(const recipe_bench_options& o, std::ostream& out, nlohmann::json& json,
               const scratch_space& space)
        : o_(o), out_(out), json_(json), space_(space) {}

    result<void> all() {
        for (const recipe_keys k : o_.keys) {
            for (const unsigned t : o_.threads) {
                if (auto done = take_turns(k, t); !done) return done;
            }
        }
        end_progress();
        report();
        return {};
    }

   private:
    /// A different store starts in each repetition.
    result<void> take_turns(recipe_keys k, unsigned threads) {
        for (unsigned r = 0; r < o_.repetitions; ++r) {
            for (std::size_t i = 0; i < o_.stores.size(); ++i) {
                const std::string& name = o_.stores[(i + r) % o_.stores.size()];
                progress(fmt::format("{} keys, {} threads, repetition {} of {}: {}", to_string(k),
                                     threads, r + 1, o_.repetitions, name));
                if (interrupted()) return {};
                if (left_out_.contains(name)) continue;
                auto done = one_life(name, k, threads, r);
                if (!done && done.error().code == errc::not_found) {
                    left_out_[name] = done.error().to_string();
                } else if (!done) {
                    return done;
                }
            }
        }
        return {};
    }

    /// Creates a store, runs its workloads and closes it.
    result<void> one_life(const std::string& name, recipe_keys k, unsigned threads, unsigned r) {
        const recipe_store_options wanted{k, most_records_of(), threads, name};
        auto made = make_recipe_store(name, space_, wanted);
        if (!made) return tl::unexpected(made.error());
        settings_[name] = (*made)->settings();
        u64 there = 0;
        for (const recipe_load w : o_.loads) {
            if (w == recipe_load::e && !(*made)->scans()) continue;
            for (const distribution d : spreads_of(w)) {
                if (interrupted()) return {};
                const recipe_shape shape{w, d, k, o_.records, there, operations_of(w), threads};
                const auto work = make_recipe_work(shape, o_.seed + r);
                auto round = run_recipe_round(**made, work);
                if (!round) return tl::unexpected(round.error());
                if (interrupted()) return {};
                there += w == recipe_load::load ? o_.records : inserts_beyond(work, shape);
                cell(name, k, threads, w, d).rounds.push_back(*round);
            }
        }
        return {};
    }

    /// Offset between the new record numbers of threads: each thread's start where they would if
    /// all earlier threads only inserted.
    static u64 inserts_beyond(const std::vector<recipe_work>& work, const recipe_shape& shape) {
        return inserts_of(work) == 0 ? 0 : shape.operations;
    }
    [[nodiscard]] u64 operations_of(recipe_load w) const {
        constexpr u64 reads = 4;
        if (w == recipe_load::load) return o_.records;
        if (w == recipe_load::c || w == recipe_load::miss) return reads * o_.operations;
        return w == recipe_load::e ? std::max<u64>(o_.operations / 4, 1) : o_.operations;
    }
    [[nodiscard]] std::vector<distribution> spreads_of(recipe_load w) const {
        if (w == recipe_load::load) return {distribution::uniform};
        // D reads the newest records; the starts of scans are distributed as in the paper's driver.
        if (w == recipe_load::d || w == recipe_load::e) return {distribution::zipfian};
        return o_.spreads;
    }
    /// The maximum number of records at the end.
    [[nodiscard]] u64 most_records_of() const {
        u64 sum = 0;
        for (const recipe_load w : o_.loads) {
            const u64 share = w == recipe_load::load ? 100 : w == recipe_load::a ? 50 : 5;
            const bool inserts = share == 100 || w >= recipe_load::b;
            sum += inserts ? spreads_of(w).size() * operations_of(w) * share / 100 : 0;
        }
        return sum;
    }

    recipe_cell& cell(const std::string& name, recipe_keys k, unsigned threads, recipe_load w,
                      distribution d) {
        const std::string spread = w == recipe_load::load ? "-"
                                   : w == recipe_load::d  ? "latest"
                                                          : std::string(to_string(d));
        for (recipe_cell& c : cells_) {
            if (c.store == name && c.keys == k && c.threads == threads && c.kind == w &&
                c.spread == spread) {
                return c;
            }
        }
        cells_.push_back({name, k, threads, w, spread, {}});
        return cells_.back();
    }

    // -------------------------------------------------------------------------------------- report
    void report() {
        table t({"keys", "load", "distribution", "store", "threads", "Mops/s", "min", "max",
                 "flush/op", "fence/op", "B/op", "scanned/op"});
        std::vector<const recipe_cell*> rows;
        for (const recipe_cell& c : cells_) rows.push_back(&c);
        // Groups rows with the same parameters, in the order of the stores.
        std::sort(rows.begin(), rows.end(), [](const recipe_cell* a, const recipe_cell* b) {
            return std::tie(a->keys, a->threads, a->kind, a->spread, a) <
                   std::tie(b->keys, b->threads, b->kind, b->spread, b);
        });
        json_["results"] = nlohmann::json::array();
        for (const recipe_cell* c : rows) add(t, *c);
        out_ << "#\n";
        t.print(out_, 4);
        for (const auto& [name, text] : settings_) {
            json_["stores"][name] = text;
            out_ << fmt::format("# {:<18} {}\n", name, text);
        }
        json_["left out"] = nlohmann::json::object();
        for (const auto& [name, why] : left_out_) {
            json_["left out"][name] = why;
            out_ << fmt::format("# {:<18} left out: {}\n", name, why);
        }
        out_.flush();
    }
    static recipe_round sum_of(const recipe_cell& c) {
        recipe_round sum;
        for (const recipe_round& r : c.rounds) {
            sum.operations += r.operations;
            sum.scanned += r.scanned;
            sum.flushes += r.flushes;
            sum.fences += r.fences;
            sum.flushed_bytes += r.flushed_bytes;
        }
        return sum;
    }
    void add(table& t, const recipe_cell& c) {
        std::vector<double> speeds;
        for (const recipe_round& r : c.rounds) speeds.push_back(r.mops());
        const recipe_round sum = sum_of(c);
        t.add({std::string(to_string(c.keys)), std::string(to_string(c.kind)), c.spread, c.store,
               std::to_string(c.threads), fixed(median(speeds), 3), fixed(quantile(speeds, 0), 3),
               fixed(quantile(speeds, 1), 3), fixed(sum.per_operation(sum.flushes), 3),
               fixed(sum.per_operation(sum.fences), 3),
               fixed(sum.per_operation(sum.flushed_bytes), 1),
               fixed(sum.per_operation(sum.scanned), 1)});
        nlohmann::json j = {{"store", c.store},
                            {"keys", to_string(c.keys)},
                            {"workload", to_string(c.kind)},
                            {"distribution", c.spread},
                            {"threads", c.threads},
                            {"records", o_.records},
                            {"Mops/s", median(speeds)}};
        for (const recipe_round& r : c.rounds) {
            j["repetitions"].push_back({{"operations", r.operations},
                                        {"seconds", r.seconds},
                                        {"cpu seconds", r.cpu_seconds},
                                        {"scanned", r.scanned},
                                        {"flushes", r.flushes},
                                        {"fences", r.fences},
                                        {"flushed bytes", r.flushed_bytes},
                                        {"streamed bytes", r.streamed_bytes}});
        }
        json_["results"].push_back(std::move(j));
    }

    const recipe_bench_options& o_;
    std::ostream& out_;
    nlohmann::json& json_;
    const scratch_space& space_;
    std::vector<recipe_cell> cells_;
    std::map<std::string, std::string> settings_;
    std::map<std::string, std::string> left_out_;  ///< peers that were not built, with the reason
};

}  // namespace

result<void> run_recipe(const recipe_bench_options& o, std::ostream& out, nlohmann::json& json) {
    auto space = scratch_space::make(o.directory, o.huge);
    if (!space) return tl::unexpected(space.error());
    describe_machine(out, json);
    say("files", space->story(), out, json);
    say("flush", find_environment().flush_instruction, out, json);
    say("threads", fmt::format("{}, each pinned to a core", fmt::join(o.threads, ", ")), out, json);
    say("records", fmt::format("{}, then {} operations", o.records, o.operations), out, json);
    say("repetitions", std::to_string(o.repetitions), out, json);
    say("seed", std::to_string(o.seed), out, json);
    return recipe_run(o, out, json, *space).all();
}

}  // namespace hf::bench
