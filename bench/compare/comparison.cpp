// `holdfast bench compare`: Holdfast and its peers on one disk, in one process, interleaved.
#include "base/clock.hpp"
#include "bench/compare/entrant.hpp"
#include "bench/compare/io_count.hpp"
#include "bench/compare/report.hpp"
#include "bench/compare/targets.hpp"
#include "bench/processor.hpp"
#include "bench/run.hpp"
#include "bench/subject.hpp"
#include "bench/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace hf::bench {

namespace {

/// One part in this many of a round runs before it, unmeasured, to fill caches and start background
/// work.
constexpr unsigned running_in_share = 5;
/// One part in this many runs after the repetitions, to measure the lag of durability.
constexpr unsigned lag_share = 5;
constexpr u64 fewest_steps = u64{1} << 16;
constexpr u64 most_steps = u64{1} << 24;

class comparison {
   public:
    comparison(const compare_options& o, entrants& all, std::ostream& out, nlohmann::json& json)
        : o_(o), all_(all), out_(out), json_(json) {
        for (const auto& e : all) results_.entrants.push_back(e->name);
    }

    result<void> run() {
        bool loaded = false;
        for (const acknowledge ack : o_.acks) {
            if (!loaded && ack != acknowledge::behind) {
                // Loaded with the fastest mode, then reopened for the measurement.
                if (auto done = session(acknowledge::behind, true, false); !done) return done;
                loaded = true;
            }
            if (auto done = session(ack, !loaded, true); !done) return done;
            loaded = true;
        }
        if (!interrupted()) {
            if (auto done = session(o_.acks.back(), false, false); !done) return done;
        }
        end_progress();
        report_cells(results_, o_.value_size, out_, json_);
        report_lags(results_, out_, json_);
        report_targets(targets_of(results_), out_, json_);
        return {};
    }

   private:
    /// Opens all stores, works, and closes them. Earlier writes must be found.
    result<void> session(acknowledge ack, bool load, bool measure) {
        if (interrupted()) return {};
        for (auto& e : all_) {
            progress(fmt::format("opening {} ({})", e->name, to_string(ack)));
            if (auto done = e->open(o_, ack); !done) return done;
            if (measure) say_settings(*e, ack);
            auto done = load ? load_one(*e) : check(*e);
            if (!done) return done;
            if (interrupted()) break;
        }
        if (load && !interrupted()) report_loads(results_, o_.value_size, out_, json_);
        if (measure) {
            if (auto done = measure_all(ack); !done) return done;
        }
        for (auto& e : all_) {
            progress("closing " + e->name);
            if (auto done = e->close(); !done) return done;
        }
        return {};
    }

    void say_settings(const entrant& e, acknowledge ack) {
        end_progress();
        std::string line;
        for (const auto& [name, value] : e.store->settings()) {
            line += fmt::format("{}{}: {}", line.empty() ? "" : "; ", name, value);
            json_["settings"][std::string(to_string(ack))][e.name][name] = value;
        }
        out_ << fmt::format("# {:<8} {:<14} {}\n", to_string(ack), e.name, line) << std::flush;
    }

    result<void> load_one(entrant& e) {
        progress("loading " + e.name);
        loading l;
        const u64 written = written_to_storage();
        round_plan plan;
        plan.clients = o_.threads;
        plan.value_size = o_.value_size;
        auto loaded = load_records(*e.store, e.notes, o_.records, plan);
        if (!loaded) return tl::unexpected(loaded.error());
        if (interrupted()) return {};
        l.round = *loaded;
        progress("settling " + e.name);
        const u64 before = now_ns();
        if (auto done = e.store->settle(); !done) return done;
        l.settle_seconds = static_cast<double>(now_ns() - before) / 1e9;
        if (auto done = e.store->rest(); !done) return done;
        l.storage_bytes = written_to_storage() - written;
        l.occupied_bytes = occupied_bytes(e.directory->path());
        results_.loads.push_back(l);
        return check(e);
    }

    result<void> check(entrant& e) {
        auto done = verify(*e.store, e.notes, o_.value_size);
        if (done) return {};
        error why = done.error();
        why.where = e.name + ", " + why.where;
        return failure(std::move(why));
    }

    result<void> measure_all(acknowledge ack) {
        for (const workload w : o_.workloads) {
            for (const distribution d : o_.distributions) {
                if (interrupted()) return {};
                if (auto done = measure(w, d, ack); !done) return done;
            }
        }
        return {};
    }

    result<void> measure(workload w, distribution d, acknowledge ack) {
        const std::vector<std::vector<sample>> none(all_.size());
        results_.cells.push_back({w, d, ack, none, none, {}});
        cell& c = results_.cells.back();
        for (unsigned turn = 0; turn <= o_.repetitions && !interrupted(); ++turn) {
            if (auto done = take_turns(c, turn); !done) return done;
        }
        return measure_lags(c);
    }

    /// In separate rounds, since the watch costs time.
    result<void> measure_lags(cell& c) {
        const stream steps = draw(c.work, c.spread, o_.repetitions + 1);
        for (std::size_t i = 0; i < all_.size() && !interrupted() && watched_; ++i) {
            progress(fmt::format("{} {} {}: durability, {}", to_string(c.work), to_string(c.spread),
                                 to_string(c.ack), all_[i]->name));
            auto measured = one_lag(*all_[i], plan_of(steps, c.ack, lag_share), c.ack);
            if (!measured && measured.error().code == errc::incompatible) {
                end_progress();
                out_ << "# durability is not measured: " << measured.error().why << '\n';
                watched_ = false;
            } else if (!measured) {
                return named(*all_[i], measured.error());
            } else {
                c.lags.push_back(std::move(*measured));
            }
        }
        // Report the lags of all stores, or of none.
        if (c.lags.size() != all_.size()) c.lags.clear();
        return {};
    }

    result<lag> one_lag(entrant& e, const round_plan& plan, acknowledge ack) {
        auto measured = measure_lag(*e.store, e.notes, plan, o_.records);
        if (auto done = e.store->rest(); !done) return tl::unexpected(done.error());
        if (!measured) return measured;
        if (auto kept = as_promised(*measured, ack); !kept) return tl::unexpected(kept.error());
        return measured;
    }

    /// A different order each time, so that no store always runs after the same one. Turn 0 is the
    /// warm-up, which does not count.
    result<void> take_turns(cell& c, unsigned turn) {
        const std::string what =
            fmt::format("{} {} {}", to_string(c.work), to_string(c.spread), to_string(c.ack));
        progress(what + ": drawing operations");
        const stream steps = draw(c.work, c.spread, turn);
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (interrupted()) return {};
            const std::size_t which = (i + turn) % all_.size();
            const std::string part =
                turn == 0 ? "running in" : fmt::format("repetition {} of {}", turn, o_.repetitions);
            progress(fmt::format("{}: {}, {}", what, part, all_[which]->name));
            auto measured = one_round(*all_[which], steps, c.ack);
            if (!measured) return tl::unexpected(measured.error());
            auto& samples = (turn == 0 ? c.running_in : c.of_entrant)[which];
            if (!interrupted()) samples.push_back(std::move(*measured));
        }
        return {};
    }

    [[nodiscard]] stream draw(workload w, distribution d, unsigned turn) const {
        const u64 length = std::clamp(4 * o_.records, fewest_steps, most_steps);
        auto drawn = make_streams({w, d, o_.records, length, 1}, o_.seed + turn);
        return std::move(drawn.front());
    }

    /// A plan for one part in `share` of a round.
    [[nodiscard]] round_plan plan_of(const stream& steps, acknowledge ack, unsigned share) const {
        round_plan plan;
        plan.steps = &steps;
        plan.value_size = o_.value_size;
        plan.clients = ack == acknowledge::behind ? o_.threads : o_.clients;
        plan.operations = o_.operations / share;
        plan.duration = std::chrono::milliseconds(o_.round) / share;
        return plan;
    }

    result<sample> one_round(entrant& e, const stream& steps, acknowledge ack) {
        const round_plan plan = plan_of(steps, ack, 1);
        round_plan warm = plan_of(steps, ack, running_in_share);
        warm.first_step = steps.size() / (2 * plan.clients);

        const u64 written = written_to_storage();
        const auto before = e.store->counters();
        auto warmed = run_round(*e.store, e.notes, warm);
        if (!warmed) return named(e, warmed.error());
        auto measured = run_round(*e.store, e.notes, plan);
        if (!measured) return named(e, measured.error());
        if (auto done = e.store->rest(); !done) return named(e, done.error());
        sample s;
        s.memory_bytes = e.store->memory();
        s.storage_bytes = written_to_storage() - written;
        s.counted = e.store->counters();
        for (std::size_t i = 0; i < before.size(); ++i) s.counted[i].second -= before[i].second;
        s.all_puts = warmed->puts + measured->puts;
        s.round = *measured;
        if (auto right = check(e); !right) return tl::unexpected(right.error());
        return s;
    }

    static tl::unexpected<error> named(const entrant& e, error why) {
        why.where = e.name + ", " + why.where;
        return failure(std::move(why));
    }

    const compare_options& o_;
    entrants& all_;
    std::ostream& out_;
    nlohmann::json& json_;
    comparison_results results_;
    bool watched_ = true;  ///< whether writes to the disk can be observed
};

/// Memory for several copies of the data: Holdfast's region, the one in tmpfs, the peers' caches,
/// and the page cache.
result<void> check_memory(const compare_options& o) {
    const u64 needed = memory_for(o) * (2 + 2 * o.peers.size());
    const u64 there = available_memory();
    if (needed <= there) return {};
    return failure(
        {errc::no_space, "load the stores", "memory",
         fmt::format("they need about {} MiB, {} MiB are free", needed >> 20, there >> 20),
         "use fewer --records, or compare with fewer --peers"});
}

void describe_compare(const compare_options& o, std::ostream& out, nlohmann::json& json) {
    describe_machine(out, json);
    const auto put = [&](const char* name, const std::string& value) {
        say(name, value, out, json);
    };
    put("disk", disk_of(o.directory));
    put("records", fmt::format("{}, keys of 8 bytes, values of {}", o.records, o.value_size));
    put("threads", fmt::format("{} behind, {} durable; not pinned", o.threads, o.clients));
    put("round", o.operations != 0 ? fmt::format("{} operations a client", o.operations)
                                   : fmt::format("{} s", o.round.count()));
    put("window", fmt::format("{} us", o.window.count()));
    put("repetitions", std::to_string(o.repetitions));
    put("seed", std::to_string(o.seed));
    json["environment"]["records"] = o.records;
    json["environment"]["value size"] = o.value_size;
    out << "#\n" << std::flush;
}

}  // namespace

result<void> run_compare(const options& all, std::ostream& out, nlohmann::json& json) {
    const compare_options& o = all.compare;
    auto taking_part = make_entrants(o);
    if (!taking_part) return tl::unexpected(taking_part.error());
    if (auto fits = check_memory(o); !fits) return fits;
    describe_compare(o, out, json);
    return comparison(o, *taking_part, out, json).run();
}

}  // namespace hf::bench
