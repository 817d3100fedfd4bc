// `holdfast bench shadow`: the measurements of the shadow paging paper, and those it left open.
#include "bench/processor.hpp"
#include "bench/run.hpp"
#include "bench/shadow/machine_set.hpp"
#include "bench/table.hpp"
#include "sim/interleaver.hpp"
#include "sim/synthetic.hpp"
#include "sim/trace.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <stdexcept>

namespace hf::bench {

namespace {

template <class T>
T must(tl::expected<T, error> r) {
    if (!r) throw tl::bad_expected_access<error>(r.error());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

const std::string& name_of(shadow_work w) {
    return shadow_work_names()[static_cast<std::size_t>(w)];
}

/// Draws keys as a spread says.
class key_source {
   public:
    key_source(const key_spread& s, u64 keys, u64 seed)
        : spread_(s), keys_(keys), ranks_(keys, s.theta), random_(seed) {}
    u64 operator()() {
        if (spread_.theta == 0) return random_.below(keys_);
        const u64 rank = ranks_(random_);
        return spread_.is_scrambled ? sim::scrambled(rank, keys_) : rank;
    }

   private:
    key_spread spread_;
    u64 keys_;
    sim::zipf ranks_;
    xoshiro256ss random_;
};

/// Accesses of one core, kept in memory.
class recorded_accesses final : public sim::sink {
   public:
    bool load(unsigned, u64 at, unsigned) override { return steps_.push_back(at << 2), true; }
    bool store(unsigned, u64 at, unsigned) override { return steps_.push_back(at << 2 | 1), true; }
    void begin(unsigned) override { steps_.push_back(2); }
    void commit(unsigned) override { steps_.push_back(3); }
    void abort(unsigned) override {}
    void replay(sim::sink& to) const {
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const u64 later =
                i + sim::sink::ahead < steps_.size() ? steps_[i + sim::sink::ahead] : 2;
            if ((later & 3) < 2) to.expect(0, later >> 2);
            const u64 step = steps_[i];
            if ((step & 3) == 0) to.load(0, step >> 2, 8);
            if ((step & 3) == 1) to.store(0, step >> 2, 8);
            if ((step & 3) == 2) to.begin(0);
            if ((step & 3) == 3) to.commit(0);
        }
    }

   private:
    std::vector<u64> steps_;
};

class shadow_measurement {
   public:
    shadow_measurement(const shadow_bench_options& o, std::ostream& out, nlohmann::json& json)
        : o_(o), out_(out), json_(json) {
        json_["rows"] = nlohmann::json::array();
        json_["options"] = {{"bytes", o.bytes},
                            {"node", o.node_bytes},
                            {"transactions", o.transactions},
                            {"warm up", o.warm_up},
                            {"stack pages", o.stack_pages},
                            {"seed", o.seed}};
    }

    void run() {
        if (o_.replay) {
            replay();
        } else {
            if (o_.measures_speed) {
                json_["speed"] = nlohmann::json::array();
                json_["slowdown"] = nlohmann::json::array();
                speed_of_synthetic();
            }
            if (o_.aborts_in_1000 != 0) synthetic();
            for (const shadow_work w : o_.works) work(w);
        }
        print();
    }

   private:
    void work(shadow_work w) {
        progress(fmt::format("{}: making {} MB", name_of(w), o_.bytes >> 20));
        const auto structure = make_structure(w, o_.bytes, o_.node_bytes, o_.seed);
        if (o_.record) {
            record(*structure, w);
            return;
        }
        if (o_.measures_speed) {
            speed_of(*structure, w);
            return;
        }
        for (const key_spread& s : o_.spreads) {
            for (const u64 n : o_.at_once) {
                for (const unsigned cores : o_.cores) {
                    if (interrupted()) return;
                    progress(
                        fmt::format("{}, {}, {} at once, {} cores", name_of(w), s.name, n, cores));
                    if (cores == 1) {
                        one_core(*structure, w, s, n);
                    } else {
                        several_cores(*structure, w, s, n, cores);
                    }
                }
            }
        }
    }
    [[nodiscard]] nlohmann::json common(const traced_structure& structure, shadow_work w,
                                        const key_spread& s, u64 at_once, unsigned cores) const {
        return {{"work", name_of(w)},
                {"spread", s.name},
                {"at once", at_once},
                {"cores", cores},
                {"used bytes", structure.used_bytes()},
                {"node", w == shadow_work::b_tree ? o_.node_bytes : 0}};
    }
    /// Keys of one transaction: a swap takes two.
    void one(traced_structure& structure, shadow_work w, key_source& draw, u64 operations,
             sim::sink& to, unsigned core) {
        keys_.clear();
        for (u64 i = 0; i < operations * (w == shadow_work::sps ? 2 : 1); ++i) {
            keys_.push_back(draw());
        }
        for (u64 i = 0; i < operations * o_.stack_pages; ++i) {
            to.store(core, sim::volatile_memory + i % o_.stack_pages * 4096, 8);
        }
        structure.trace_to(&to, core);
        structure.transaction(keys_);
        structure.trace_to(nullptr, 0);
    }
    void one_core(traced_structure& structure, shadow_work w, const key_spread& s, u64 at_once) {
        machine_set all(o_.machines, structure.pages());
        key_source draw(s, structure.keys(), o_.seed);
        for (u64 i = 0; i < o_.warm_up && !interrupted(); ++i) {
            one(structure, w, draw, at_once, all.all(), 0);
        }
        all.reset_numbers();
        for (u64 i = 0; i < o_.transactions && !interrupted(); ++i) {
            one(structure, w, draw, at_once, all.all(), 0);
        }
        all.tell(common(structure, w, s, at_once, 1), json_["rows"]);
    }
    void several_cores(traced_structure& structure, shadow_work w, const key_spread& s, u64 at_once,
                       unsigned cores) {
        for (const std::string& name : o_.machines) {
            sim::shadow_config c = find_machine(name)->config;
            c.on.cores = cores;
            sim::shadow_machine<> machine(c, structure.pages());
            sim::interleaver turns(machine, cores);
            key_source draw(s, structure.keys(), o_.seed);
            for (u64 i = 0; i < (o_.warm_up + o_.transactions) / cores && !interrupted(); ++i) {
                if (i == o_.warm_up / cores) machine.reset_numbers();
                for (unsigned core = 0; core < cores; ++core) {
                    one(structure, w, draw, at_once, turns, core);
                }
                turns.run();
            }
            nlohmann::json row = row_of(name, machine.numbers());
            row.update(common(structure, w, s, at_once, cores));
            json_["rows"].push_back(std::move(row));
        }
    }
    void record(traced_structure& structure, shadow_work w) {
        auto to = must(sim::trace_writer::create(*o_.record, 1, structure.pages()));
        key_source draw(o_.spreads.front(), structure.keys(), o_.seed);
        for (u64 i = 0; i < o_.transactions && !interrupted(); ++i) {
            one(structure, w, draw, o_.at_once.front(), *to, 0);
        }
        must(to->finish());
        json_["recorded"] = to->events();
        out_ << to->events() << " events are in " << o_.record->string() << '\n';
    }
    void replay() {
        const sim::trace_header h = must(sim::read_trace_header(*o_.replay));
        machine_set all(o_.machines, h.pages);
        const sim::trace_summary s = must(sim::replay_trace(*o_.replay, all.all()));
        json_["replayed"] = s.events;
        all.tell({{"work", "trace"}, {"spread", ""}, {"at once", 0}, {"cores", h.cores}},
                 json_["rows"]);
    }
    [[nodiscard]] sim::synthetic_options synthetic_options() const {
        sim::synthetic_options s;
        s.pages = o_.bytes / 4096;
        s.seed = o_.seed;
        return s;
    }
    void synthetic() {
        sim::synthetic_options s = synthetic_options();
        s.aborts_in_1000 = o_.aborts_in_1000;
        machine_set all(o_.machines, s.pages);
        sim::run_synthetic(s, o_.transactions, 0, all.all());
        all.tell({{"work", "synthetic"}, {"spread", "uniform"}, {"at once", 1}, {"cores", 1}},
                 json_["rows"]);
    }
    void speed_of_synthetic() {
        for (const key_spread& spread : o_.spreads) {
            sim::synthetic_options s = synthetic_options();
            s.theta = spread.theta;
            s.is_scrambled = spread.is_scrambled;
            recorded_accesses made;
            sim::run_synthetic(s, o_.transactions, 0, made);
            speed("synthetic", spread, s.pages, made);
        }
    }
    void speed_of(traced_structure& structure, shadow_work w) {
        for (const key_spread& spread : o_.spreads) {
            recorded_accesses made;
            key_source draw(spread, structure.keys(), o_.seed);
            for (u64 i = 0; i < o_.transactions; ++i) {
                one(structure, w, draw, o_.at_once.front(), made, 0);
            }
            speed(name_of(w), spread, structure.pages(), made);
            slowdown(structure, w, spread);
        }
    }
    /// Processor time of the structure's transactions, in nanoseconds.
    double time_of(traced_structure& structure, shadow_work w, const key_spread& spread,
                   sim::sink* to) {
        key_source draw(spread, structure.keys(), o_.seed);
        std::vector<std::vector<u64>> all(o_.transactions);
        for (std::vector<u64>& keys : all) {
            const u64 n = o_.at_once.front() * (w == shadow_work::sps ? 2 : 1);
            for (u64 i = 0; i < n; ++i) keys.push_back(draw());
        }
        structure.trace_to(to, 0);
        const u64 start = thread_cpu_ns();
        for (const std::vector<u64>& keys : all) structure.transaction(keys);
        const u64 took = thread_cpu_ns() - start;
        structure.trace_to(nullptr, 0);
        return static_cast<double>(std::max<u64>(1, took));
    }
    /// A program that is simulated while it runs, against the program alone.
    void slowdown(traced_structure& structure, shadow_work w, const key_spread& spread) {
        static_cast<void>(time_of(structure, w, spread, nullptr));  // touches memory
        const double alone = time_of(structure, w, spread, nullptr);
        for (const std::string& name : o_.machines) {
            sim::shadow_machine<> machine(find_machine(name)->config, structure.pages());
            static_cast<void>(time_of(structure, w, spread, &machine));
            const double times = time_of(structure, w, spread, &machine) / alone;
            json_["slowdown"].push_back({{"work", name_of(w)},
                                         {"machine", name},
                                         {"spread", spread.name},
                                         {"times slower", times}});
            out_ << fmt::format("{}, {}, {}: {:.1f} times slower than without the simulator\n",
                                name_of(w), name, spread.name, times);
        }
    }
    /// Accesses a second of processor time, made before and replayed.
    void speed(const std::string& work, const key_spread& spread, u64 pages,
               const recorded_accesses& made) {
        for (const std::string& name : o_.machines) {
            sim::shadow_machine<> machine(find_machine(name)->config, pages);
            made.replay(machine);
            machine.reset_numbers();
            const u64 start = thread_cpu_ns();
            made.replay(machine);
            const auto took = static_cast<double>(thread_cpu_ns() - start);
            const double rate = static_cast<double>(machine.numbers().accesses()) * 1e9 / took;
            json_["speed"].push_back({{"work", work},
                                      {"machine", name},
                                      {"spread", spread.name},
                                      {"accesses a second", rate}});
            out_ << fmt::format("{}, {}, {}: {:.1f} M accesses a second\n", work, name, spread.name,
                                rate / 1e6);
        }
    }
    void print() {
        table t({"work", "spread", "machine", "at once", "cores", "data", "journal", "consol.",
                 "table", "log", "flushes/tx", "TLB miss"});
        for (const nlohmann::json& r : json_["rows"]) {
            const auto per_tx = [&](const nlohmann::json& n) {
                return fixed(n.get<double>() / std::max(1.0, r["transactions"].get<double>()), 2);
            };
            const nlohmann::json& f = r["flushes"];
            t.add(
                {r["work"], r["spread"], r["machine"], r["at once"].dump(), r["cores"].dump(),
                 per_tx(f["data"]), per_tx(f["journal"]), per_tx(f["consolidation"]),
                 per_tx(f["table"]), per_tx(f["log"]), per_tx(r["paper flushes"]),
                 fixed(r["tlb load misses"].get<double>() / std::max(1.0, r["loads"].get<double>()),
                       4)});
        }
        t.print(out_, 3);
    }

    const shadow_bench_options& o_;
    std::ostream& out_;
    nlohmann::json& json_;
    std::vector<u64> keys_;
};

}  // namespace

result<void> run_shadow(const options& o, std::ostream& out, nlohmann::json& json) {
    describe_machine(out, json);
    try {
        shadow_measurement(o.shadow, out, json).run();
    } catch (const tl::bad_expected_access<error>& e) {
        return failure(e.error());
    } catch (const std::bad_alloc&) {
        return failure({errc::no_space, "simulate shadow paging", "memory",
                        "there is not enough of it", "choose less: --bytes, --machines"});
    } catch (const std::exception& e) {
        return failure({errc::usage, "simulate shadow paging", "", e.what(),
                        "see `holdfast bench shadow --help`"});
    }
    return {};
}

}  // namespace hf::bench
