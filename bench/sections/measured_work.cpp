#include "bench/sections/measured_work.hpp"

#include "base/clock.hpp"
#include "bench/sections/small_works.hpp"
#include "bench/sections/synced_way.hpp"
#ifdef HF_DEDUP
#include "examples/sections/dedup/pipeline.hpp"
#endif

#include <algorithm>
#include <barrier>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hf::bench {

const std::vector<std::string>& section_work_names() {
    static const std::vector<std::string> all{
        "bank",  "queue", "cache", "avl",
#ifdef HF_DEDUP
        "dedup",
#endif
    };
    return all;
}

namespace {

/// Runs `body(thread)` in that many threads, which begin together. Returns nanoseconds, from the
/// first thread's beginning to the last one's end: this thread may not run meanwhile.
u64 timed(unsigned threads, const std::function<void(unsigned)>& body) {
    std::barrier ready(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::pair<u64, u64>> ran(threads);
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            ready.arrive_and_wait();
            const u64 begin = now_ns();
            body(t);
            ran[t] = {begin, now_ns()};
        });
    }
    for (std::thread& t : all) t.join();
    u64 first = ran[0].first;
    u64 last = ran[0].second;
    for (const auto& [begin, end] : ran) {
        first = std::min(first, begin);
        last = std::max(last, end);
    }
    return last - first;
}

/// `end` is called by each thread at its end.
template <template <class> class Work, class Way>
u64 run_one(const work_size& size, const std::function<void()>& end) {
    const auto work = std::make_unique<Work<Way>>(size.threads);
    return timed(size.threads, [&](unsigned t) {
        work->operate(t, size.operations / size.threads);
        end();
    });
}

template <class Way>
u64 run_named(const std::string& work, const work_size& size, const std::function<void()>& end) {
#ifdef HF_DEDUP
    if (work == "dedup") {
        example::dedup<Way> pipeline(size.threads, size.operations << 20, end);
        const u64 start = now_ns();
        pipeline.run();
        return now_ns() - start;
    }
#endif
    if (work == "bank") return run_one<bank_work, Way>(size, end);
    if (work == "queue") return run_one<queue_work, Way>(size, end);
    if (work == "cache") return run_one<cache_work, Way>(size, end);
    return run_one<avl_work, Way>(size, end);
}

}  // namespace

u64 run_work(const std::string& work, work_way way, const work_size& size) {
    const auto nothing = [] {};
    switch (way) {
        case work_way::announced:
            return run_named<announced_way>(work, size, nothing);
        case work_way::paged:
            return run_named<paged_way>(work, size, nothing);
        case work_way::synced:
            return run_named<synced_way>(work, size, nothing);
        default:
            return run_named<original_way>(work, size, nothing);
    }
}

work_counts count_work(const std::string& work, const work_size& size) {
    std::mutex mutex;
    work_counts sum;
    const auto add = [&] {
        const std::lock_guard guard(mutex);
        const work_counts mine = std::exchange(counting_way::counts, {});
        sum.stores += mine.stores;
        sum.stores_inside += mine.stores_inside;
        sum.sections += mine.sections;
        sum.inner_sections += mine.inner_sections;
    };
    counting_way::counts = {};
    static_cast<void>(run_named<counting_way>(work, size, add));
    return sum;
}

}  // namespace hf::bench
