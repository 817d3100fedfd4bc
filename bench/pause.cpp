// The delay that the end of an epoch causes for running operations: YCSB-A with every operation
// timed.
#include "bench/processor.hpp"
#include "bench/quantile.hpp"
#include "bench/run.hpp"
#include "bench/subject.hpp"
#include "bench/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace hf::bench {

namespace {

struct pause_case {
    std::string discipline;
    distribution spread;
    std::chrono::microseconds epoch;
};

result<measurement> measure(const options& o, const scratch_space& space, const pause_case& c) {
    subject_options settings;
    settings.epoch = c.epoch;
    settings.fence_latency_ns = o.fence_latencies_ns.front();
    settings.value_size = o.value_size;
    settings.initial_size = size_for(o.records.front(), o.value_size);
    auto made = make_subject(c.discipline, space, settings);
    if (!made) return tl::unexpected(made.error());
    stream_shape shape{workload::load, c.spread, o.records.front(), o.operations,
                       o.threads.front()};
    if (auto loaded = (*made)->run(make_streams(shape, o.seed), 64); !loaded) return loaded;
    shape.kind = workload::a;
    measurement sum;
    for (unsigned r = 0; r < o.repetitions && !interrupted(); ++r) {
        auto one = (*made)->run(make_streams(shape, o.seed + r), 1);
        if (!one) return one;
        sum.operations += one->operations;
        sum.seconds += one->seconds;
        sum.epochs += one->epochs;
        sum.flushes += one->flushes;
        sum.preemptions += one->preemptions;
        sum.latency_ns.merge(one->latency_ns);
        const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
            to.insert(to.end(), from.begin(), from.end());
        };
        append(sum.pauses_us, one->pauses_us);
        append(sum.stalls_us, one->stalls_us);
    }
    return sum;
}

std::string micro(double ns) { return fixed(ns / 1e3, 1); }

}  // namespace

result<void> run_pause(const options& o, std::ostream& out, nlohmann::json& json) {
    auto space = scratch_space::make(o.directory, o.huge);
    if (!space) return tl::unexpected(space.error());
    describe(o, *space, out, json);
    out << fmt::format("# {:<12} {}\n", "records", o.records.front())
        << fmt::format("# {:<12} {} a thread, YCSB-A\n#\n", "operations", o.operations);
    table t({"discipline", "keys", "epoch ms", "epochs", "Mops/s", "lines/epoch", "pause p50",
             "p99", "max us", "stall p50", "p99", "max us", "op p50", "p99", "p99.9", "max us",
             "lost"});
    json["results"] = nlohmann::json::array();
    for (const std::string& d : o.disciplines) {
        for (const distribution s : o.distributions) {
            for (const auto epoch : o.epochs) {
                if (interrupted()) break;
                progress(fmt::format("{} {} {} us", d, to_string(s), epoch.count()));
                auto m = measure(o, *space, {d, s, epoch});
                if (!m) return tl::unexpected(m.error());
                const histogram& ops = m->latency_ns;
                const auto lines = static_cast<double>(m->flushes) /
                                   static_cast<double>(std::max<u64>(m->epochs, 1));
                t.add({d, std::string(to_string(s)),
                       fixed(static_cast<double>(epoch.count()) / 1e3, 1),
                       std::to_string(m->epochs), fixed(m->throughput() / 1e6, 3), fixed(lines, 0),
                       fixed(quantile(m->pauses_us, 0.5), 0),
                       fixed(quantile(m->pauses_us, 0.99), 0), fixed(quantile(m->pauses_us, 1), 0),
                       fixed(quantile(m->stalls_us, 0.5), 0),
                       fixed(quantile(m->stalls_us, 0.99), 0), fixed(quantile(m->stalls_us, 1), 0),
                       micro(static_cast<double>(ops.percentile(50))),
                       micro(static_cast<double>(ops.percentile(99))),
                       micro(static_cast<double>(ops.percentile(99.9))),
                       micro(static_cast<double>(ops.max())), std::to_string(m->preemptions)});
                json["results"].push_back({{"discipline", d},
                                           {"distribution", to_string(s)},
                                           {"epoch us", epoch.count()},
                                           {"records", o.records.front()},
                                           {"operations", m->operations},
                                           {"seconds", m->seconds},
                                           {"epochs", m->epochs},
                                           {"flushes", m->flushes},
                                           {"preemptions", m->preemptions},
                                           {"pauses us", m->pauses_us},
                                           {"stalls us", m->stalls_us},
                                           {"operation ns",
                                            {{"p50", ops.percentile(50)},
                                             {"p99", ops.percentile(99)},
                                             {"p99.9", ops.percentile(99.9)},
                                             {"max", ops.max()}}}});
            }
        }
    }
    end_progress();
    t.print(out, 2);
    out << "# pause: the boundary itself, nobody inside; stall: the operation that a thread was in "
           "when "
           "the epoch changed, gate, drain and pause included; lost: preemptions\n"
        << std::flush;
    return {};
}

}  // namespace hf::bench
