// YCSB (Cohen et al., ASPLOS 2019, section 6): all disciplines in one process, with interleaved
// repetitions.
#include "bench/processor.hpp"
#include "bench/quantile.hpp"
#include "bench/run.hpp"
#include "bench/subject.hpp"
#include "bench/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>

namespace hf::bench {

namespace {

constexpr unsigned sample_every = 64;
/// One part in this many of the operations runs before each measurement, unmeasured, to fill the
/// caches.
constexpr u64 warm_up_share = 8;

using series = std::vector<measurement>;

struct ycsb_cell {
    workload work;
    distribution spread;
    unsigned threads;
    u32 fence_latency_ns;
    std::vector<series> of_discipline;
};

class ycsb_run {
   public:
    ycsb_run(const options& o, std::ostream& out, nlohmann::json& json, const scratch_space& space)
        : o_(o), out_(out), json_(json), space_(space) {
        settings_.epoch = o.epochs.front();
        settings_.fence_latency_ns = o.fence_latencies_ns.front();
        settings_.value_size = o.value_size;
        settings_.initial_size = size_for(records(), o.value_size);
    }

    result<void> all() {
        if (auto fits = check_memory(); !fits) return fits;
        bool preload = false;
        for (const workload w : o_.workloads) {
            if (w != workload::load) {
                preload = true;
            } else if (auto done = measure_load(); !done) {
                return done;
            }
        }
        if (preload && !interrupted()) {
            if (auto done = load_all(); !done) return done;
        }
        for (const workload w : o_.workloads) {
            if (w == workload::load) continue;
            for (const distribution d : o_.distributions) {
                if (interrupted()) break;
                if (auto done = measure(w, d); !done) return done;
            }
        }
        end_progress();
        report();
        return {};
    }

   private:
    [[nodiscard]] u64 records() const { return o_.records.front(); }

    [[nodiscard]] result<void> check_memory() const {
        u64 needed = 0;
        for (const std::string& d : o_.disciplines) {
            // malloc'ed trees are never destroyed: `load` keeps one for each repetition.
            const bool load = std::count(o_.workloads.begin(), o_.workloads.end(), workload::load);
            needed += settings_.initial_size * (d == "malloc" && load ? o_.repetitions + 1 : 1);
        }
        const u64 there = std::min(available_memory(), space_.free_bytes());
        if (needed <= there) return {};
        return failure(
            {errc::no_space, "load the trees", space_.story(),
             fmt::format("they need about {} MiB, {} MiB are free", needed >> 20, there >> 20),
             "use fewer --records, or compare fewer disciplines"});
    }

    [[nodiscard]] stream_shape shape(workload w, distribution d, unsigned threads) const {
        return {w, d, records(), o_.operations, threads};
    }
    [[nodiscard]] std::vector<stream> load_streams() const {
        const unsigned most = *std::max_element(o_.threads.begin(), o_.threads.end());
        return make_streams(shape(workload::load, distribution::uniform, most), o_.seed);
    }
    [[nodiscard]] ycsb_cell empty_cell(workload w, distribution d, unsigned threads,
                                       u32 fence_latency_ns) const {
        return {w, d, threads, fence_latency_ns, std::vector<series>(o_.disciplines.size())};
    }

    result<void> load_all() {
        const auto streams = load_streams();
        out_ << "#\n";
        for (const std::string& d : o_.disciplines) {
            progress("loading " + d);
            auto made = make_subject(d, space_, settings_);
            if (!made) return tl::unexpected(made.error());
            auto loaded = (*made)->run(streams, sample_every);
            if (!loaded) return tl::unexpected(loaded.error());
            const page_report pages = (*made)->pages();
            const std::string line = fmt::format(
                "{}; {} records in a region of {} MiB, {} MiB resident, {:.0f}% by huge pages; "
                "{} MiB of hints",
                (*made)->medium_name(), records(), (*made)->region_bytes() >> 20,
                pages.resident >> 20, 100 * pages.huge_share(), (*made)->hint_bytes() >> 20);
            end_progress();
            out_ << fmt::format("# {:<12} {}\n", d, line) << std::flush;
            json_["trees"][d] = {{"medium", (*made)->medium_name()},
                                 {"region bytes", (*made)->region_bytes()},
                                 {"resident bytes", pages.resident},
                                 {"bytes in huge pages", pages.huge},
                                 {"hint bytes", (*made)->hint_bytes()}};
            subjects_.push_back(std::move(*made));
            if (interrupted()) return {};
        }
        return {};
    }

    /// A different order in each repetition, so that no discipline always runs after the same one.
    template <class F>
    result<void> interleave(const std::string& title, const std::vector<ycsb_cell>& cells,
                            F&& one) {
        const std::size_t disciplines = o_.disciplines.size();
        const std::size_t n = cells.size() * disciplines;
        for (unsigned r = 0; r < o_.repetitions; ++r) {
            for (std::size_t i = 0; i < n; ++i) {
                const std::size_t cell = (i / disciplines + r) % cells.size();
                const std::size_t which = (i + r) % disciplines;
                progress(fmt::format("{}: repetition {} of {}, {}", title, r + 1, o_.repetitions,
                                     label(cells[cell], which)));
                if (interrupted()) return {};
                if (cells[cell].work == workload::e && !subjects_[which]->scans()) continue;
                if (result<void> done = one(r, cell, which); !done) return done;
            }
        }
        return {};
    }

    /// Interleaves all numbers of threads and all latencies, like the disciplines.
    result<void> measure(workload w, distribution d) {
        std::vector<ycsb_cell> cells;
        for (const unsigned t : o_.threads) {
            for (const u32 l : o_.fence_latencies_ns) cells.push_back(empty_cell(w, d, t, l));
        }
        std::vector<stream> streams;
        std::vector<stream> warm_up;
        std::optional<std::pair<unsigned, unsigned>> made_for;
        const std::string title = fmt::format("{} {}", to_string(w), to_string(d));
        auto done =
            interleave(title, cells, [&](unsigned repetition, std::size_t cell, std::size_t which) {
                ycsb_cell& c = cells[cell];
                if (made_for != std::pair(repetition, c.threads)) {
                    stream_shape s = shape(w, d, c.threads);
                    streams = make_streams(s, o_.seed + repetition);
                    s.operations /= warm_up_share;
                    warm_up = make_streams(s, ~(o_.seed + repetition));
                    made_for = {repetition, c.threads};
                }
                return run_once(c, which, warm_up, streams);
            });
        for (ycsb_cell& c : cells) cells_.push_back(std::move(c));
        return done;
    }

    result<void> run_once(ycsb_cell& c, std::size_t which, const std::vector<stream>& warm_up,
                          const std::vector<stream>& streams) {
        if (auto done = subjects_[which]->emulate(c.fence_latency_ns); !done) return done;
        auto warmed = subjects_[which]->run(warm_up, sample_every);
        if (!warmed) return tl::unexpected(warmed.error());
        auto measured = subjects_[which]->run(streams, sample_every);
        if (!measured) return tl::unexpected(measured.error());
        if (!interrupted()) c.of_discipline[which].push_back(std::move(*measured));
        return {};
    }

    /// Uses the greatest number of threads, and the first latency.
    result<void> measure_load() {
        const auto streams = load_streams();
        std::vector<ycsb_cell> cells;
        cells.push_back(empty_cell(workload::load, distribution::uniform,
                                   static_cast<unsigned>(streams.size()),
                                   o_.fence_latencies_ns.front()));
        ycsb_cell& c = cells.front();
        const auto one = [&](unsigned, std::size_t, std::size_t which) -> result<void> {
            auto made = make_subject(o_.disciplines[which], space_, settings_);
            if (!made) return tl::unexpected(made.error());
            auto measured = (*made)->run(streams, sample_every);
            if (!measured) return tl::unexpected(measured.error());
            if (!interrupted()) c.of_discipline[which].push_back(std::move(*measured));
            return {};
        };
        auto done = interleave("load", cells, one);
        cells_.push_back(std::move(c));
        return done;
    }

    // -------------------------------------------------------------------------------------- report

    /// The discipline, with the parameters in which this cell differs from others.
    [[nodiscard]] std::string label(const ycsb_cell& c, std::size_t which) const {
        std::string text = o_.disciplines[which];
        if (o_.threads.size() > 1) text += fmt::format(", {} threads", c.threads);
        if (o_.fence_latencies_ns.size() > 1) text += fmt::format(", {} ns", c.fence_latency_ns);
        return text;
    }

    template <class F>
    static std::vector<double> each(const series& s, F&& value) {
        std::vector<double> values;
        for (const measurement& m : s) values.push_back(static_cast<double>(value(m)));
        return values;
    }

    /// An eager index is compared with the same index, transient.
    [[nodiscard]] static std::string yardstick_of(const std::string& name) {
        const std::size_t dash = name.find("-eager");
        if (dash == std::string::npos) return std::string(yardstick);
        return name.substr(0, dash + 1) + std::string(yardstick);
    }
    /// Median of the pairwise ratios to the yardstick; "" without one.
    template <class F>
    [[nodiscard]] std::vector<double> ratios(const ycsb_cell& c, std::size_t which,
                                             F&& value) const {
        for (std::size_t y = 0; y < o_.disciplines.size(); ++y) {
            if (o_.disciplines[y] != yardstick_of(o_.disciplines[which])) continue;
            return pairwise_ratios(each(c.of_discipline[which], value),
                                   each(c.of_discipline[y], value));
        }
        return {};
    }

    void report() {
        table t({"load",      "keys",      "discipline", "Mops/s", "ratio",  "min",    "max",
                 "cpu-ratio", "pause p50", "p99",        "max us", "epochs", "log/op", "flush/op",
                 "fence/op",  "B/op",      "p50 ns",     "p99",    "p99.9",  "lost"});
        json_["results"] = nlohmann::json::array();
        for (const ycsb_cell& c : cells_) {
            for (std::size_t i = 0; i < o_.disciplines.size(); ++i) {
                if (!c.of_discipline[i].empty()) add_row(t, c, i);
            }
        }
        out_ << "#\n";
        t.print(out_, 3);
        out_ << "# ratio: median (min, max) of the repetitions' ratios to " << yardstick
             << "; cpu-ratio: the same by processor time; lost: preemptions a repetition\n"
             << std::flush;
    }

    void add_row(table& t, const ycsb_cell& c, std::size_t which) {
        const series& s = c.of_discipline[which];
        measurement sum;
        std::vector<double> pauses;
        for (const measurement& m : s) {
            sum.operations += m.operations;
            sum.epochs += m.epochs;
            sum.log_entries += m.log_entries;
            sum.flushes += m.flushes;
            sum.fences += m.fences;
            sum.flushed_bytes += m.flushed_bytes;
            sum.missing += m.missing;
            sum.preemptions += m.preemptions;
            sum.latency_ns.merge(m.latency_ns);
            pauses.insert(pauses.end(), m.pauses_us.begin(), m.pauses_us.end());
        }
        const auto speed = each(s, [](const measurement& m) { return m.throughput() / 1e6; });
        const auto by_clock = ratios(c, which, [](const measurement& m) { return m.throughput(); });
        const auto by_cpu =
            ratios(c, which, [](const measurement& m) { return m.cpu_throughput(); });
        const auto ratio = [](const std::vector<double>& r, double q) {
            return r.empty() ? std::string("-") : fixed(quantile(r, q), 3);
        };
        t.add({std::string(to_string(c.work)),
               c.work == workload::load ? "-" : std::string(to_string(c.spread)),
               label(c, which),
               fixed(median(speed), 3),
               ratio(by_clock, 0.5),
               ratio(by_clock, 0),
               ratio(by_clock, 1),
               ratio(by_cpu, 0.5),
               fixed(quantile(pauses, 0.5), 0),
               fixed(quantile(pauses, 0.99), 0),
               fixed(quantile(pauses, 1), 0),
               fmt::format("{}", sum.epochs),
               fixed(sum.per_operation(sum.log_entries), 4),
               fixed(sum.per_operation(sum.flushes), 3),
               fixed(sum.per_operation(sum.fences), 4),
               fixed(sum.per_operation(sum.flushed_bytes), 1),
               fmt::format("{}", sum.latency_ns.percentile(50)),
               fmt::format("{}", sum.latency_ns.percentile(99)),
               fmt::format("{}", sum.latency_ns.percentile(99.9)),
               fmt::format("{}", sum.preemptions / s.size())});
        add_json(c, which, median(speed), by_clock, by_cpu);
    }

    void add_json(const ycsb_cell& c, std::size_t which, double speed,
                  const std::vector<double>& by_clock, const std::vector<double>& by_cpu) {
        nlohmann::json j = {{"workload", to_string(c.work)},
                            {"distribution", to_string(c.spread)},
                            {"discipline", o_.disciplines[which]},
                            {"records", records()},
                            {"threads", c.threads},
                            {"fence latency ns", c.fence_latency_ns},
                            {"Mops/s", speed}};
        if (!by_clock.empty()) {
            j["ratio"] = median(by_clock);
            j["cpu ratio"] = median(by_cpu);
        }
        for (const measurement& m : c.of_discipline[which]) {
            j["repetitions"].push_back({{"operations", m.operations},
                                        {"seconds", m.seconds},
                                        {"cpu seconds", m.cpu_seconds},
                                        {"preemptions", m.preemptions},
                                        {"missing", m.missing},
                                        {"epochs", m.epochs},
                                        {"pauses us", m.pauses_us},
                                        {"log entries", m.log_entries},
                                        {"log bytes", m.log_bytes},
                                        {"flushes", m.flushes},
                                        {"fences", m.fences},
                                        {"flushed bytes", m.flushed_bytes},
                                        {"latency ns",
                                         {{"samples", m.latency_ns.count()},
                                          {"p50", m.latency_ns.percentile(50)},
                                          {"p99", m.latency_ns.percentile(99)},
                                          {"p99.9", m.latency_ns.percentile(99.9)},
                                          {"max", m.latency_ns.max()}}}});
        }
        json_["results"].push_back(std::move(j));
    }

    const options& o_;
    std::ostream& out_;
    nlohmann::json& json_;
    const scratch_space& space_;
    subject_options settings_;
    std::vector<std::unique_ptr<subject>> subjects_;
    std::vector<ycsb_cell> cells_;
};

}  // namespace

result<void> run_ycsb(const options& o, std::ostream& out, nlohmann::json& json) {
    auto space = scratch_space::make(o.directory, o.huge);
    if (!space) return tl::unexpected(space.error());
    describe(o, *space, out, json);
    out << fmt::format("# {:<12} {}\n", "records", o.records.front())
        << fmt::format("# {:<12} {} a thread\n", "operations", o.operations)
        << fmt::format("# {:<12} {} us\n", "epoch", o.epochs.front().count());
    return ycsb_run(o, out, json, *space).all();
}

}  // namespace hf::bench
