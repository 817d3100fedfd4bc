// bench/engine_subject.hpp: the measured loop over engine<D>.
#pragma once

#include "base/check.hpp"
#include "base/clock.hpp"
#include "bench/processor.hpp"
#include "bench/subject.hpp"
#include "map/engine.hpp"
#include "persist/counters.hpp"
#include "sync/spin_lock.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

namespace hf::bench {

template <class D>
class engine_subject final : public subject {
   public:
    engine_subject(std::unique_ptr<engine<D>> machine, const scratch_space& space,
                   std::filesystem::path file, const subject_options& options)
        : machine_(std::move(machine)),
          space_(space),
          file_(std::move(file)),
          options_(options),
          value_(options.value_size, 'v') {}

    ~engine_subject() override {
        machine_.reset();
        space_.remove(file_);
    }

    result<measurement> run(const std::vector<stream>& streams, unsigned sample_every) override;

    [[nodiscard]] std::string_view name() const noexcept override { return D::name; }
    [[nodiscard]] u64 region_bytes() const noexcept override { return machine_->file().size(); }
    [[nodiscard]] page_report pages() const override {
        return pages_of(machine_->file().base(), machine_->file().size());
    }
    [[nodiscard]] std::string medium_name() const override {
        const medium& m = machine_->file().med();
        return std::string(hf::to_string(m.kind())) + ", flush " +
               std::string(hf::to_string(m.instruction()));
    }

   private:
    struct worker {
        u64 begin_ns = 0;
        u64 end_ns = 0;
        u64 cpu_ns = 0;
        u64 preemptions = 0;
        u64 done = 0;
        u64 missing = 0;
        std::optional<error> failed;
        histogram latency;
        std::vector<double> stalls_us;
        std::thread thread;
    };
    /// Threads that have arrived, at the start and at the end.
    struct meeting {
        std::atomic<unsigned> ready{0};
        std::atomic<unsigned> finished{0};
        std::atomic<unsigned> left{0};
    };

    void work(worker& w, const stream& steps, unsigned sample_every, int core, unsigned threads,
              meeting& m);
    [[nodiscard]] result<bool> execute(const step& s);
    [[nodiscard]] result<bool> put(std::string_view key);
    void watch_pauses(const meeting& m, unsigned threads, measurement& into);

    static void meet(std::atomic<unsigned>& count, unsigned threads) noexcept {
        count.fetch_add(1);
        backoff pause;
        while (count.load(std::memory_order_acquire) < threads) pause.wait();
    }

    std::unique_ptr<engine<D>> machine_;
    const scratch_space& space_;
    std::filesystem::path file_;
    subject_options options_;
    std::string value_;
};

template <class D>
result<bool> engine_subject<D>::put(std::string_view key) {
    auto& tree = machine_->tree();
    operation op(machine_->checkpoint());
    auto fresh = tree.make_record(op, key, value_);
    if (!fresh) [[unlikely]] {
        return tl::unexpected(fresh.error());
    }
    const u64 record = *fresh;
    auto done = tree.update(
        op, key, [record](const auto*) { return decision{decision::action::store, record}; });
    if (!done) [[unlikely]] {
        tree.drop_record(op, record);
        return tl::unexpected(done.error());
    }
    return true;
}

/// Whether it found what it looked for.
template <class D>
inline result<bool> engine_subject<D>::execute(const step& s) {
    const u64 number = key_of(s.record());
    const std::string_view key(reinterpret_cast<const char*>(&number), sizeof(number));
    auto& tree = machine_->tree();
    if (s.what() == action::put) return put(key);
    operation op(machine_->checkpoint());
    if (s.what() == action::get) {
        return tree.get(op, key, [](std::string_view value) {
            char copy[8] = {};
            std::memcpy(copy, value.data(), std::min(value.size(), sizeof(copy)));
            asm volatile("" : : "r"(copy) : "memory");
        });
    }
    unsigned met = 0;
    tree.scan(op, key, false, [&met](std::string_view, std::string_view value) {
        asm volatile("" : : "r"(*value.data()) : "memory");
        return ++met < scan_length;
    });
    return met != 0;
}

template <class D>
void engine_subject<D>::work(worker& w, const stream& steps, unsigned sample_every, int core,
                             unsigned threads, meeting& m) {
    pin_to_core(core);
    const double scale = ns_per_tick();
    const u64 mask = sample_every - 1;
    epoch_manager& epochs = machine_->epochs();
    (void)epochs.my_lane();
    u64 epoch = epochs.current_epoch();
    meet(m.ready, threads);
    const u64 preempted = thread_preemptions();
    const u64 cpu = thread_cpu_ns();
    w.begin_ns = now_ns();
    for (u64 i = 0; i < steps.size(); ++i) {
        const bool sampled = (i & mask) == 0;
        u64 from = 0;
        if (sampled) {
            if (interrupted()) break;
            from = ticks();
        }
        auto found = execute(steps[i]);
        if (sampled) {
            const double ns = static_cast<double>(ticks() - from) * scale;
            w.latency.add(static_cast<u64>(ns));
            const u64 now = epochs.current_epoch();
            if (mask == 0 && now != epoch) w.stalls_us.push_back(ns / 1e3);
            epoch = now;
        }
        if (!found) [[unlikely]] {
            w.failed = found.error();
            break;
        }
        w.missing += *found ? 0 : 1;
        ++w.done;
    }
    // What this thread wrote lies in this epoch or an earlier one. All threads end it together, so
    // that all help.
    const u64 last = epochs.current_epoch();
    w.cpu_ns = thread_cpu_ns() - cpu;
    meet(m.finished, threads);
    const u64 waited = thread_cpu_ns();
    if (auto ok = epochs.wait_durable(last); !ok) fatal(ok.error().to_string().c_str());
    w.end_ns = now_ns();
    w.cpu_ns += thread_cpu_ns() - waited;
    w.preemptions = thread_preemptions() - preempted;
    m.left.fetch_add(1);
}

/// Notes the length of each pause, looking in far more often than epochs end.
template <class D>
void engine_subject<D>::watch_pauses(const meeting& m, unsigned threads, measurement& into) {
    epoch_manager& epochs = machine_->epochs();
    const auto nap = std::clamp(options_.epoch / 8, std::chrono::microseconds(500),
                                std::chrono::microseconds(8000));
    u64 seen = epochs.current_epoch();
    const u64 first = seen;
    for (bool over = false; !over;) {
        over = m.left.load() >= threads;
        const u64 now = epochs.current_epoch();
        if (now != seen) {
            into.pauses_us.push_back(static_cast<double>(epochs.last_pause_ns()) / 1e3);
        }
        seen = now;
        if (!over) std::this_thread::sleep_for(nap);
    }
    into.epochs = seen - first;
}

template <class D>
result<measurement> engine_subject<D>::run(const std::vector<stream>& streams,
                                           unsigned sample_every) {
    epoch_manager& epochs = machine_->epochs();
    const auto cores = usable_cores();
    const auto threads = static_cast<unsigned>(streams.size());
    meeting m;
    std::vector<worker> workers(threads);
    measurement sum;
    epochs.end_epoch();
    const persist_counters before = total_persist_counters();
    const u64 entries = machine_->checkpoint().log_entries();
    const u64 bytes = machine_->checkpoint().log_bytes();
    (void)ns_per_tick();
    for (unsigned t = 0; t < threads; ++t) {
        workers[t].thread = std::thread([this, &w = workers[t], &steps = streams[t], sample_every,
                                         core = cores[t % cores.size()], threads,
                                         &m] { work(w, steps, sample_every, core, threads, m); });
    }
    watch_pauses(m, threads, sum);
    for (worker& w : workers) w.thread.join();
    const persist_counters after = total_persist_counters();
    sum.flushes = after.flushes - before.flushes;
    sum.fences = after.fences - before.fences;
    sum.flushed_bytes = after.flushed_bytes - before.flushed_bytes;
    sum.log_entries = machine_->checkpoint().log_entries() - entries;
    sum.log_bytes = machine_->checkpoint().log_bytes() - bytes;
    u64 begin = ~u64{0};
    u64 end = 0;
    for (const worker& w : workers) {
        if (w.failed) return tl::unexpected(*w.failed);
        begin = std::min(begin, w.begin_ns);
        end = std::max(end, w.end_ns);
        sum.operations += w.done;
        sum.missing += w.missing;
        sum.cpu_seconds += static_cast<double>(w.cpu_ns) / 1e9;
        sum.preemptions += w.preemptions;
        sum.latency_ns.merge(w.latency);
        sum.stalls_us.insert(sum.stalls_us.end(), w.stalls_us.begin(), w.stalls_us.end());
    }
    sum.seconds = static_cast<double>(end - begin) / 1e9;
    return sum;
}

}  // namespace hf::bench
