// The benchmark of RECIPE's driver, for the eager indexes: random 8-byte integer keys, loaded and
// then read, inserted and scanned by several threads. In its workload A half of the operations are
// inserts of new keys; this program reports updates, removes and misses separately. Reads are
// uniform; scans of 1 to 100 entries start at Zipf-distributed keys.
//
//   hf_recipe_micro [--index clht] [--discipline eager] [--records 1000000] [--threads 1,2]
//                   [--repetitions 3] [--processor-time]
//
// Each line is the median of the repetitions, each of which uses a new region. On a shared machine
// --processor-time uses the threads' processor time instead of the clock: good for comparing two
// programs, but not as absolute numbers.
#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/random.hpp"
#include "bench/processor.hpp"
#include "bench/quantile.hpp"
#include "bench/scratch_space.hpp"
#include "bench/zipfian.hpp"
#include "index/art/art.hpp"
#include "index/bwtree/bwtree.hpp"
#include "index/clht/clht.hpp"
#include "index/eager_masstree/eager_masstree.hpp"
#include "index/hot/hot.hpp"
#include "persist/counters.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <atomic>
#include <ctime>
#include <iostream>
#include <map>
#include <thread>

namespace hf::bench {
namespace {

struct plan {
    std::string index = "clht";
    std::string discipline = "eager";
    u64 records = 1'000'000;
    std::vector<unsigned> threads = {1, 2};
    unsigned repetitions = 3;
    bool processor_time = false;
};

struct figures {
    double mops = 0;
    double flushes = 0;  ///< for each operation
    double fences = 0;
    double streamed = 0;  ///< lines written by non-temporal stores
};

template <class T>
T must(tl::expected<T, error> r) {
    if (!r) fatal(r.error().to_string().c_str());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// Distinct for different n.
u64 key_of(u64 n) { return integer_keys::hash(n * 2 + 1); }

u64 time_ns(bool of_processor) {
    if (!of_processor) return now_ns();
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
}

/// Calls work(thread, number of the operation) for each of `operations`, by `threads` threads.
template <class Work>
figures timed(const plan& p, unsigned threads, u64 operations, const Work& work) {
    std::atomic<unsigned> ready{0};
    std::vector<std::thread> all;
    std::vector<u64> begin(threads);
    std::vector<u64> end(threads);
    const persist_counters before = total_persist_counters();
    const auto cores = usable_cores();
    for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            pin_to_core(cores[t % cores.size()]);
            ++ready;
            while (ready.load() < threads) cpu_relax();
            begin[t] = time_ns(p.processor_time);
            const u64 first = operations * t / threads;
            const u64 last = operations * (t + 1) / threads;
            for (u64 i = first; i < last; ++i) work(t, i);
            end[t] = time_ns(p.processor_time);
        });
    }
    for (std::thread& t : all) t.join();
    const persist_counters after = total_persist_counters();
    // Processor times of several threads have no common start.
    if (p.processor_time) {
        for (unsigned t = 0; t < threads; ++t) end[t] -= std::exchange(begin[t], 0);
    }
    const auto ns = static_cast<double>(*std::max_element(end.begin(), end.end()) -
                                        *std::min_element(begin.begin(), begin.end()));
    const auto n = static_cast<double>(operations);
    return {n * 1e3 / ns, static_cast<double>(after.flushes - before.flushes) / n,
            static_cast<double>(after.fences - before.fences) / n,
            static_cast<double>(after.streamed_bytes - before.streamed_bytes) /
                static_cast<double>(line_size) / n};
}

template <class Index>
void run_once(const plan& p, unsigned threads, scratch_space& place,
              std::map<std::string, std::vector<figures>>& out) {
    using operation = typename Index::operation;
    const auto file = place.file("recipe");
    place.remove(file);
    eager_options o;
    o.region.kind = p.discipline == "eager" ? discipline::eager : discipline::transient;
    o.region.mode = open_mode::create_new;
    o.region.initial_size = (u64{128} << 20) + p.records * 300;
    o.region.flush = p.discipline == "eager" ? flush_policy::always : flush_policy::automatic;
    const layout::room_format rooms[] = {Index::format};
    std::unique_ptr<Index> index;
    auto space = must(eager_space::open(file, o, rooms, [&](eager_space& s) -> result<void> {
        index = must(Index::open(s, "index"));
        return {};
    }));
    // As in RECIPE's driver: all memory is touched before the measurement.
    for (u64 at = 0; at < space->file().size(); at += 4096) {
        static_cast<void>(*space->file().template at<volatile char>(at));
    }
    std::atomic<u64> missing{0};
    const auto insert = [&](u64 k) {
        operation op(*space);
        if (!must(index->insert(op, k, k + 1))) ++missing;
    };
    const auto read = [&](u64 k) {
        u64 seen = 0;
        const auto found = [&](u64 v) { seen = v; };
        if constexpr (requires { index->get(*space, k, found); }) {
            index->get(*space, k, found);
        } else {
            operation op(*space);
            index->get(op, k, found);
        }
        return seen;
    };
    const u64 n = p.records;
    // Drawn in advance, as in RECIPE's driver.
    const u64 reads = std::max<u64>(n, 4'000'000);
    std::vector<u64> drawn(reads);
    for (u64 i = 0; i < reads; ++i) drawn[i] = key_of((splitmix64(i * 77 + 5)() >> 32) * n >> 32);
    const auto draw = [&](u64 i) { return drawn[i]; };
    std::vector<u64> begins(n / 4);
    const zipfian often(n);
    xoshiro256ss random(p.records);
    for (u64& k : begins) k = key_of((splitmix64(often(random))() >> 32) * n >> 32);
    out["load"].push_back(timed(p, threads, n, [&](unsigned, u64 i) { insert(key_of(i)); }));
    out["C"].push_back(timed(p, threads, reads, [&](unsigned, u64 i) {
        const u64 k = draw(i);
        if (read(k) != k + 1) ++missing;
    }));
    out["miss"].push_back(timed(p, threads, reads, [&](unsigned, u64 i) {
        if (read(key_of(n + n + i)) != 0) ++missing;
    }));
    out["A"].push_back(timed(p, threads, n, [&](unsigned, u64 i) {
        if (i % 2 == 0) return insert(key_of(n + i / 2));
        const u64 k = draw(i);
        if (read(k) != k + 1) ++missing;
    }));
    if constexpr (ordered_eager_index<Index>) {
        out["E"].push_back(timed(p, threads, n / 4, [&](unsigned, u64 i) {
            if (i % 20 == 0) return insert(key_of(n + n / 2 + i / 20));
            u64 sum = 0;
            index->scan(*space, begins[i], 1 + draw(i) % 100, [&](u64, u64 v) { sum += v; });
            if (sum == 0) ++missing;
        }));
    }
    out["update"].push_back(timed(p, threads, n, [&](unsigned, u64 i) {
        const u64 k = draw(i);
        operation op(*space);
        if (!must(index->update(op, k, k + 1, ignore))) ++missing;
    }));
    out["remove"].push_back(timed(p, threads, n, [&](unsigned, u64 i) {
        operation op(*space);
        if (!index->remove(op, key_of(i), ignore)) ++missing;
    }));
    const page_report pages = pages_of(space->file().base(), space->file().size());
    if (out["C"].size() == 1) {
        fmt::print("# {} MiB resident, {:.0f}% by huge pages\n", pages.resident >> 20,
                   100 * pages.huge_share());
    }
    HF_CHECK(missing == 0, "something that was written is not there");
    must(space->close());
    space.reset();
    index.reset();
    place.remove(file);
}

template <class D>
void run(const plan& p) {
    auto place = must(scratch_space::make(std::nullopt, huge_pages::automatic));
    fmt::print("# {} {}, {} records; {}\n", p.index, p.discipline, p.records, place.story());
    for (const unsigned t : p.threads) {
        std::map<std::string, std::vector<figures>> out;
        for (unsigned r = 0; r < p.repetitions; ++r) {
            if (p.index == "clht") run_once<clht<D, integer_keys>>(p, t, place, out);
            if (p.index == "bwtree") run_once<bwtree<D, integer_keys>>(p, t, place, out);
            if (p.index == "hot") run_once<hot<D, integer_keys>>(p, t, place, out);
            if (p.index == "masstree") run_once<eager_masstree<D, integer_keys>>(p, t, place, out);
            if (p.index == "art") run_once<art<D, integer_keys>>(p, t, place, out);
        }
        for (const auto& [name, of] : out) {
            std::vector<double> speeds;
            for (const figures& f : of) speeds.push_back(f.mops);
            fmt::print(
                "{:>8} {} threads {:7.2f} Mops/s  {:.3f} flushes {:.3f} fences "
                "{:.3f} lines streamed\n",
                name, t, median(speeds), of.front().flushes, of.front().fences,
                of.front().streamed);
        }
    }
}

int run_all(int argc, char** argv) {
    plan p;
    CLI::App app("The eager indexes, measured as RECIPE's driver measures.");
    app.add_option("--index", p.index)
        ->check(CLI::IsMember({"clht", "art", "hot", "bwtree", "masstree"}));
    app.add_option("--discipline", p.discipline)->check(CLI::IsMember({"eager", "transient"}));
    app.add_option("--records", p.records);
    app.add_option("--threads", p.threads)->delimiter(',');
    app.add_option("--repetitions", p.repetitions);
    app.add_flag("--processor-time", p.processor_time);
    CLI11_PARSE(app, argc, argv);
    if (p.discipline == "eager") {
        run<eager_discipline>(p);
    } else {
        run<eager_transient_discipline>(p);
    }
    return 0;
}

}  // namespace
}  // namespace hf::bench

int main(int argc, char** argv) { return hf::bench::run_all(argc, argv); }
