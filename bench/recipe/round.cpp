#include "bench/recipe/round.hpp"

#include "base/clock.hpp"
#include "persist/counters.hpp"
#include "sync/spin_lock.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

namespace hf::bench {

namespace {

struct alignas(64) recipe_worker {
    u64 begin_ns = 0;
    u64 end_ns = 0;
    u64 cpu_ns = 0;
    recipe_tally tally;
    std::optional<error> failed;
    std::thread thread;
};

void run_worker(recipe_store& s, unsigned number, int core, const recipe_work& what,
                std::atomic<unsigned>& ready, unsigned threads, recipe_worker& w) {
    pin_to_core(core);
    ready.fetch_add(1);
    backoff pause;
    while (ready.load(std::memory_order_acquire) < threads) pause.wait();
    const u64 cpu = thread_cpu_ns();
    w.begin_ns = now_ns();
    auto done = s.work(number, what, w.tally);
    w.end_ns = now_ns();
    w.cpu_ns = thread_cpu_ns() - cpu;
    if (!done) w.failed = done.error();
}

result<void> check(const recipe_tally& sum) {
    if (sum.wrong == 0 && sum.missing == 0) return {};
    return failure({errc::violation, "measure", "the records",
                    std::to_string(sum.missing) + " are not as they should be there, " +
                        std::to_string(sum.wrong) + " have another key's value",
                    "report it: it is a bug"});
}

result<recipe_round> sum_of(const std::vector<recipe_worker>& workers, u64 finish_ns) {
    recipe_round sum;
    recipe_tally all;
    u64 begin = ~u64{0};
    u64 end = 0;
    for (const recipe_worker& w : workers) {
        if (w.failed) return tl::unexpected(*w.failed);
        begin = std::min(begin, w.begin_ns);
        end = std::max(end, w.end_ns);
        sum.operations += w.tally.done;
        all.scanned += w.tally.scanned;
        all.missing += w.tally.missing;
        all.wrong += w.tally.wrong;
        sum.cpu_seconds += static_cast<double>(w.cpu_ns) / 1e9;
    }
    if (auto right = check(all); !right) return tl::unexpected(right.error());
    sum.scanned = all.scanned;
    sum.seconds = static_cast<double>(end - begin + finish_ns) / 1e9;
    return sum;
}

}  // namespace

result<recipe_round> run_recipe_round(recipe_store& s, const std::vector<recipe_work>& work) {
    const auto threads = static_cast<unsigned>(work.size());
    const auto cores = usable_cores();
    if (auto begun = s.begin(threads); !begun) return tl::unexpected(begun.error());
    std::vector<recipe_worker> workers(threads);
    std::atomic<unsigned> ready{0};
    const persist_counters before = total_persist_counters();
    for (unsigned t = 0; t < threads; ++t) {
        workers[t].thread = std::thread([&, t, core = cores[t % cores.size()]] {
            run_worker(s, t, core, work[t], ready, threads, workers[t]);
        });
    }
    for (recipe_worker& w : workers) w.thread.join();
    const u64 ended = now_ns();
    auto finished = s.finish();
    const u64 finish_ns = now_ns() - ended;
    const persist_counters after = total_persist_counters();
    if (!finished) return tl::unexpected(finished.error());
    auto sum = sum_of(workers, finish_ns);
    if (!sum) return sum;
    sum->flushes = after.flushes - before.flushes;
    sum->fences = after.fences - before.fences;
    sum->flushed_bytes = after.flushed_bytes - before.flushed_bytes;
    sum->streamed_bytes = after.streamed_bytes - before.streamed_bytes;
    if (auto resting = s.rest(); !resting) return tl::unexpected(resting.error());
    return sum;
}

}  // namespace hf::bench
