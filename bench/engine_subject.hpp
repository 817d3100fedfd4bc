// bench/engine_subject.hpp: the measured loop, over a target (bench/target.hpp).
#pragma once

#include "base/clock.hpp"
#include "bench/processor.hpp"
#include "bench/subject.hpp"
#include "bench/target.hpp"
#include "persist/counters.hpp"
#include "sync/spin_lock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>

namespace hf::bench {

template <class Target>
class engine_subject final : public subject {
   public:
    /// Opens a file that is new (open_mode::create_new) or was closed in order.
    using opener = result<Target> (*)(const std::filesystem::path& file,
                                      const subject_options& options, open_mode mode);

    engine_subject(Target target, opener open, const scratch_space& space,
                   std::filesystem::path file, const subject_options& options)
        : target_(std::make_unique<Target>(std::move(target))),
          open_(open),
          space_(space),
          file_(std::move(file)),
          options_(options) {}

    ~engine_subject() override {
        target_.reset();
        space_.remove(file_);
    }

    result<measurement> run(const std::vector<stream>& streams, unsigned sample_every) override;
    result<void> emulate(u32 fence_latency_ns) override;

    [[nodiscard]] std::string_view name() const noexcept override {
        if constexpr (in_region) {
            return Target::name();
        } else {
            return target_->called();
        }
    }
    [[nodiscard]] bool scans() const noexcept override {
        if constexpr (in_region) {
            return true;
        } else {
            return target_->ordered();
        }
    }
    [[nodiscard]] u64 region_bytes() const noexcept override {
        if constexpr (in_region) {
            return machine().file().size();
        } else {
            return 0;
        }
    }
    [[nodiscard]] page_report pages() const override {
        if constexpr (in_region) {
            return pages_of(machine().file().base(), machine().file().size());
        } else {
            return {target_->store().bytes(), 0};
        }
    }
    [[nodiscard]] u64 hint_bytes() const noexcept override {
        if constexpr (in_region) {
            return machine().tree().hint_bytes();
        } else {
            return 0;
        }
    }
    [[nodiscard]] std::string medium_name() const override {
        if constexpr (in_region) {
            const medium& m = machine().file().med();
            return std::string(hf::to_string(m.kind())) + ", flush " +
                   std::string(hf::to_string(m.instruction()));
        } else if constexpr (requires { target_->medium_name(); }) {
            return target_->medium_name();
        } else {
            return "malloc";
        }
    }

   private:
    /// Other targets are libraries without a region.
    static constexpr bool in_region = requires { Target::name(); };
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
        std::string value;    ///< of puts: begins with its mark
        std::string scratch;  ///< the value read by a get
        std::thread thread;
    };
    /// Counts the threads that have arrived, at the start and at the end.
    struct meeting {
        std::atomic<unsigned> ready{0};
        std::atomic<unsigned> finished{0};
        std::atomic<unsigned> left{0};
    };

    void work(worker& w, const stream& steps, unsigned sample_every, int core, unsigned threads,
              meeting& m);
    [[nodiscard]] result<std::size_t> execute(std::span<const step> steps, worker& w);
    [[nodiscard]] result<std::size_t> execute_many(std::span<const step> steps, worker& w);
    [[nodiscard]] std::string_view value_of(std::string_view key, worker& w) const noexcept {
        const u64 mark = mark_of(key, round_);
        std::memcpy(w.value.data(), &mark, std::min(w.value.size(), sizeof(mark)));
        return w.value;
    }
    [[nodiscard]] result<void> check_puts(const stream& steps, u64 done);
    [[nodiscard]] auto& machine() const noexcept { return target_->machine(); }
    void watch_pauses(const meeting& m, unsigned threads, measurement& into);

    static void meet(std::atomic<unsigned>& count, unsigned threads) noexcept {
        count.fetch_add(1);
        backoff pause;
        while (count.load(std::memory_order_acquire) < threads) pause.wait();
    }

    std::unique_ptr<Target> target_;
    opener open_;
    const scratch_space& space_;
    std::filesystem::path file_;
    subject_options options_;
    u64 round_ = 0;
};

/// Runs the next steps that form one call, and returns their number. Adds the steps that did not
/// find their record to `missing`.
template <class Target>
inline result<std::size_t> engine_subject<Target>::execute(std::span<const step> steps, worker& w) {
    const step& s = steps.front();
    if constexpr (Target::many) {
        if (s.what() == action::get) return execute_many(steps, w);
    }
    const u64 number = key_of(s.record());
    const std::string_view key(reinterpret_cast<const char*>(&number), sizeof(number));
    bool found = false;
    if (s.what() == action::scan) {
        auto met = target_->scan(key);
        if (!met) return tl::unexpected(met.error());
        found = *met != 0;
    } else {
        auto done = s.what() == action::put ? target_->put(key, value_of(key, w))
                                            : target_->get(key, w.scratch);
        if (!done) return tl::unexpected(done.error());
        found = *done;
    }
    w.missing += found ? 0 : 1;
    return std::size_t{1};
}

template <class Target>
inline result<std::size_t> engine_subject<Target>::execute_many(std::span<const step> steps,
                                                                worker& w) {
    std::array<u64, keys_at_once> numbers{};
    std::array<std::string_view, keys_at_once> keys;
    std::size_t n = 0;
    for (; n < std::min(steps.size(), keys_at_once) && steps[n].what() == action::get; ++n) {
        numbers[n] = key_of(steps[n].record());
        keys[n] = {reinterpret_cast<const char*>(&numbers[n]), sizeof(u64)};
    }
    auto found = target_->get_many(std::span(keys).first(n));
    if (!found) return tl::unexpected(found.error());
    w.missing += n - *found;
    return n;
}

template <class Target>
void engine_subject<Target>::work(worker& w, const stream& steps, unsigned sample_every, int core,
                                  unsigned threads, meeting& m) {
    pin_to_core(core);
    const double scale = ns_per_tick();
    auto& epochs = machine().epochs();
    (void)epochs.my_lane();
    u64 epoch = epochs.current_epoch();
    meet(m.ready, threads);
    const u64 preempted = thread_preemptions();
    const u64 cpu = thread_cpu_ns();
    w.begin_ns = now_ns();
    const std::span<const step> all(steps);
    for (u64 i = 0, sample = 0; i < steps.size();) {
        const bool sampled = i >= sample;
        u64 from = 0;
        if (sampled) {
            if (interrupted()) break;
            sample += sample_every;
            from = ticks();
        }
        auto done = execute(all.subspan(i), w);
        if (sampled) {
            const double ns = static_cast<double>(ticks() - from) * scale;
            w.latency.add(static_cast<u64>(ns));
            const u64 now = epochs.current_epoch();
            if (sample_every == 1 && now != epoch) w.stalls_us.push_back(ns / 1e3);
            epoch = now;
        }
        if (!done) [[unlikely]] {
            w.failed = done.error();
            break;
        }
        i += *done;
        w.done += *done;
    }
    // All writes of this thread are in this epoch or an earlier one. All threads end it together,
    // so that all help.
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

/// Records the length of each pause; polls much more often than epochs end.
template <class Target>
void engine_subject<Target>::watch_pauses(const meeting& m, unsigned threads, measurement& into) {
    auto& epochs = machine().epochs();
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

/// Checks some of the puts among the first `done` steps: whichever thread wrote the record last did
/// so in this round.
template <class Target>
result<void> engine_subject<Target>::check_puts(const stream& steps, u64 done) {
    constexpr u64 most_checked = 8192;
    target_->allowed.oldest = round_;
    std::string scratch;
    for (u64 i = 0; i < done; i += 1 + done / most_checked) {
        if (steps[i].what() != action::put) continue;
        const u64 number = key_of(steps[i].record());
        auto found =
            target_->get({reinterpret_cast<const char*>(&number), sizeof(number)}, scratch);
        if (!found) return tl::unexpected(found.error());
        if (!*found) return lost_records(1);
    }
    return {};
}

template <class Target>
result<void> engine_subject<Target>::emulate(u32 fence_latency_ns) {
    if (options_.fence_latency_ns == fence_latency_ns || !Target::survives) return {};
    options_.fence_latency_ns = fence_latency_ns;
    if (auto closed = target_->close(); !closed) return closed;
    target_.reset();
    auto opened = open_(file_, options_, open_mode::open_existing);
    if (!opened) return tl::unexpected(opened.error());
    target_ = std::make_unique<Target>(std::move(*opened));
    return {};
}

template <class Target>
result<measurement> engine_subject<Target>::run(const std::vector<stream>& streams,
                                                unsigned sample_every) {
    auto& epochs = machine().epochs();
    const auto cores = usable_cores();
    const auto threads = static_cast<unsigned>(streams.size());
    if constexpr (!in_region) target_->store().work_with(threads);
    target_->allowed = {0, ++round_};
    meeting m;
    std::vector<worker> workers(threads);
    measurement sum;
    epochs.end_epoch();
    const persist_counters before = total_persist_counters();
    const u64 entries = machine().checkpoint().log_entries();
    const u64 bytes = machine().checkpoint().log_bytes();
    (void)ns_per_tick();
    for (unsigned t = 0; t < threads; ++t) {
        workers[t].value.assign(options_.value_size, 'v');
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
    sum.log_entries = machine().checkpoint().log_entries() - entries;
    sum.log_bytes = machine().checkpoint().log_bytes() - bytes;
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
    // All requested records were loaded, and no record is ever removed.
    if (sum.missing != 0) return lost_records(sum.missing);
    for (unsigned t = 0; t < threads; ++t) {
        if (auto there = check_puts(streams[t], workers[t].done); !there) {
            return tl::unexpected(there.error());
        }
    }
    return sum;
}

}  // namespace hf::bench
