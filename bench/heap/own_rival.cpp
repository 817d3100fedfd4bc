#include "bench/heap/own_rival.hpp"

#include <holdfast/heap.hpp>
#include <holdfast/nv/map.hpp>
#include <holdfast/nv/rb_map.hpp>
#include <holdfast/nv/unordered_map.hpp>

#include "base/clock.hpp"
#include "transaction/engine_kind.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <csignal>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hf::bench {

namespace {

using u64 = std::uint64_t;
using heap_type = nv::heap<>;
using tx = nv::tx<>;
using heap_number = nv::p<u64>;

struct heap_cell {
    heap_number value;
    nv::ptr<heap_cell> next;
};
using tree_type = nv::map<u64, heap_number>;
using red_black_type = nv::rb_map<u64, heap_number>;
using hash_type = nv::unordered_map<u64, heap_number>;

template <class T>
T must_do(tl::expected<T, error> r) {
    if (!r) throw std::runtime_error("holdfast: " + r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

nv::heap_options heap_options_of(const own_options& o) {
    nv::heap_options h;
    h.region.flush = flush_policy::always;
    h.region.initial_size = o.common.bytes / 4;
    h.region.medium = o.medium;
    for (const engine_kind k : all_engines()) {
        if (to_string(k) == o.common.variant) h.engine = static_cast<nv::engine>(k);
    }
    h.epoch = o.epoch;
    return h;
}

heap_type open_heap(const own_options& o) {
    const nv::heap_options h = heap_options_of(o);
    if (o.common.variant == "nodur") return must_do(heap_type::make_volatile(o.common.bytes, h));
    return must_do(heap_type::open(o.common.directory / "heap.hf", h));
}

class own final : public object_rival {
   public:
    explicit own(const own_options& o)
        : variant_(o.common.variant),
          elements_(o.common.elements),
          value_words_(o.common.value_bytes / 8),
          in_flight_(o.common.in_flight > 1 ? o.common.in_flight : 0),
          heap_(open_heap(o)),
          field_(must_do(heap_.root<heap_cell>("field"))),
          array_(must_do(heap_.root<heap_number[]>("array"))),
          tree_(must_do(heap_.root<tree_type>("tree"))),
          red_black_(must_do(heap_.root<red_black_type>("red-black"))),
          hash_(must_do(heap_.root<hash_type>("hash"))) {
        must_do(heap_.atomic([&](tx& t) { field_.set(t, t.make<heap_cell>(u64{0})); }));
    }

    [[nodiscard]] bool does(object_work) const override { return true; }
    void prepare(object_work w) override {
        work_ = w;
        must_do(heap_.atomic([&](tx& t) {
            if (w == object_work::tree) tree_.set(t, t.make<tree_type>());
            if (w == object_work::red_black) red_black_.set(t, t.make<red_black_type>());
            if (w == object_work::hash) hash_.set(t, t.make<hash_type>());
            if (w == object_work::swap) array_.set(t, t.make_array<heap_number[]>(elements_));
        }));
        if (w == object_work::swap) fill_array();
        if (w == object_work::value) make_values();
    }
    void load(std::span<const u64> keys) override {
        ticket last = 0;
        for (const u64 k : keys) {
            (void)must_do(heap_.later([&](tx& t) { return toggle_here(t, k); }, last));
        }
        must_do(heap_.wait_durable(last));
    }
    void nothing() override {
        must_do(heap_.atomic([](tx&) {}));
    }
    [[nodiscard]] u64 read() override {
        return must_do(heap_.read([&](tx&) -> u64 { return field_->value; }));
    }
    void set(u64 value) override {
        must_do(heap_.atomic([&](tx& t) { field_->value.set(t, value); }));
    }
    void swap(std::span<const pair> which) override {
        must_do(heap_.atomic([&](tx& t) {
            heap_number* const all = array_.get().first();
            // The positions are known in advance, so that their misses overlap
            // (transaction::prefetch).
            for (; !which.empty(); which = which.subspan(std::min(at_a_time, which.size()))) {
                swap_some(t, all, which.first(std::min(at_a_time, which.size())));
            }
        }));
    }
    void overwrite(u64 which, u64 word) override {
        std::ranges::fill(value_, word);
        must_do(heap_.atomic([&](tx& t) {
            array_.get().write(t, first_word_ + which * value_words_, value_.data(), value_words_);
        }));
    }
    [[nodiscard]] u64 last_word(u64 which) override {
        u64 found = 0;
        const u64 at = first_word_ + (which + 1) * value_words_ - 1;
        must_do(heap_.read([&](tx&) { array_.get().read(at, &found, 1); }));
        return found;
    }
    [[nodiscard]] u64 sum() override {
        u64 total = 0;
        std::vector<u64> some(at_once);
        for (u64 at = 0; at < elements_; at += at_once) {
            const u64 n = std::min(at_once, elements_ - at);
            must_do(heap_.read([&](tx&) { array_.get().read(at, some.data(), n); }));
            for (u64 i = 0; i < n; ++i) total += some[i];
        }
        return total;
    }
    [[nodiscard]] bool toggle(u64 key) override {
        const auto toggles = [&](tx& t) { return toggle_here(t, key); };
        if (in_flight_.empty()) return must_do(heap_.atomic(toggles));
        ticket& oldest = in_flight_[begun_++ % in_flight_.size()];
        must_do(heap_.wait_durable(oldest));
        return must_do(heap_.later(toggles, oldest));
    }
    void settle() override {
        for (const ticket t : in_flight_) must_do(heap_.wait_durable(t));
    }
    [[nodiscard]] std::string settings() const override {
        return variant_ == "nodur"    ? "the same heap in ordinary memory: nothing is durable"
               : variant_ == "undo"   ? "undo log (the paper's)"
               : variant_ == "shadow" ? "shadow pages: two slots a page, no data logged"
                                      : "redo log";
    }

   private:
    static constexpr u64 at_once = 4096;
    /// Number of swaps that are prefetched together: they fit into the L1 cache.
    static constexpr std::size_t at_a_time = 16;

    static void swap_some(tx& t, heap_number* all, std::span<const pair> which) {
        for (const auto& [a, b] : which) {
            transaction::prefetch(all + a);
            transaction::prefetch(all + b);
        }
        for (const auto& [a, b] : which) {
            const u64 old = all[a];
            all[a].set(t, all[b].get());
            all[b].set(t, old);
        }
    }
    bool toggle_here(tx& t, u64 key) {
        if (work_ == object_work::tree) return toggle_in(t, *tree_.get(), key);
        if (work_ == object_work::red_black) return toggle_in(t, *red_black_.get(), key);
        return toggle_in(t, *hash_.get(), key);
    }
    template <class Map>
    static bool toggle_in(tx& t, Map& map, u64 key) {
        const auto at = map.place_of(key);
        if (at) {
            map.erase_at(t, at);
            return false;
        }
        value_in(map.insert_at(t, at, key)).set(t, key);
        return true;
    }
    static heap_number& value_in(heap_number& value) { return value; }
    template <class Entry>
    static heap_number& value_in(const nv::cursor<Entry>& made) {
        return made->value;
    }
    template <class Entry>
    static heap_number& value_in(Entry* made) {
        return made->value;
    }
    void make_values() {
        constexpr u64 words_per_line = 8;
        const u64 words = elements_ * value_words_ + words_per_line;
        must_do(heap_.atomic([&](tx& t) { array_.set(t, t.make_array<heap_number[]>(words)); }));
        const u64 begin = must_do(heap_.read(
            [&](tx&) -> u64 { return reinterpret_cast<u64>(array_.get().first()) / sizeof(u64); }));
        first_word_ = (words_per_line - begin % words_per_line) % words_per_line;
    }
    void fill_array() {
        std::vector<u64> some(at_once);
        for (u64 at = 0; at < elements_; at += at_once) {
            const u64 n = std::min(at_once, elements_ - at);
            for (u64 i = 0; i < n; ++i) some[i] = at + i;
            must_do(heap_.atomic([&](tx& t) { array_.get().write(t, at, some.data(), n); }));
        }
    }

    std::string variant_;
    u64 elements_;
    u64 value_words_;
    u64 first_word_ = 0;  ///< of the values: the begin of a line
    std::vector<u64> value_ = std::vector<u64>(value_words_);
    std::vector<ticket> in_flight_;  ///< by transaction number; of one thread
    u64 begun_ = 0;
    heap_type heap_;
    nv::root<heap_cell> field_;
    nv::root<heap_number[]> array_;
    nv::root<tree_type> tree_;
    nv::root<red_black_type> red_black_;
    nv::root<hash_type> hash_;
    object_work work_ = object_work::field;
};

}  // namespace

std::unique_ptr<object_rival> open_own(const own_options& options) {
    return std::make_unique<own>(options);
}

chase_times measure_chase(const own_options& options, u64 steps) {
    struct raw_cell {
        u64 value;
        raw_cell* next;
    };
    // they fit into the L1 cache, so that the pointer's own cost is measured
    constexpr u64 cells = 1000;
    heap_type heap = open_heap(options);
    auto head = must_do(heap.root<heap_cell>("chase"));
    must_do(heap.atomic([&](tx& t) {
        for (u64 i = 0; i < cells; ++i) head.set(t, t.make<heap_cell>(i, head.get()));
    }));
    std::vector<raw_cell> raw(cells);
    for (u64 i = 0; i < cells; ++i) raw[i] = {i, i == 0 ? nullptr : &raw[i - 1]};
    chase_times took;
    volatile u64 sink = 0;
    const auto per_step = [&](u64 start) {
        return static_cast<double>(now_ns() - start) / static_cast<double>(steps);
    };
    u64 start = now_ns();
    must_do(heap.read([&](tx&) {
        u64 sum = 0;
        for (u64 done = 0; done < steps; done += cells) {
            for (auto n = head.get(); n; n = n->next) sum += n->value;
        }
        sink = sum;
    }));
    took.heap = per_step(start);
    start = now_ns();
    u64 sum = 0;
    for (u64 done = 0; done < steps; done += cells) {
        const raw_cell* n = &raw.back();
        asm volatile("" : "+r"(n));  // hides the value from the optimiser
        for (; n != nullptr; n = n->next) sum += n->value;
    }
    sink = sink + sum;
    took.raw = per_step(start);
    must_do(heap.close());
    return took;
}

namespace {

constexpr unsigned committers = 2;  // a thread's log has room for fewer records than requested

std::string field_of(unsigned thread) { return "field of thread " + std::to_string(thread); }

constexpr u64 record_of_field = 128;  ///< bytes in the log, at most

/// Writes one record that is a quarter larger: the thread's log keeps that size and restarts in the
/// next epoch, which the thread's next transaction begins. With the original size a full log would
/// end the epoch.
void widen_log(heap_type& heap, u64 bytes) {
    const std::vector<u64> words(bytes / 4 * 5 / sizeof(u64), 1);
    auto room = must_do(heap.root<heap_number[]>("room of a log"));
    static std::mutex one_at_a_time;
    const std::lock_guard guard(one_at_a_time);
    must_do(heap.atomic([&](tx& t) { room.set(t, t.make_array<heap_number[]>(words.size())); }));
    must_do(heap.atomic([&](tx& t) { room.get().write(t, 0, words.data(), words.size()); }));
    must_do(heap.atomic([&](tx& t) { room.set(t, nullptr); }));
}

/// Does not return.
[[noreturn]] void commit_and_die(const own_options& o, u64 commits) {
    try {
        heap_type heap = open_heap(o);
        std::vector<std::thread> all;
        std::barrier all_are_wide(committers);
        for (unsigned t = 0; t < committers; ++t) {
            auto field = must_do(heap.root<heap_cell>(field_of(t)));
            must_do(heap.atomic([&](tx& now) { field.set(now, now.make<heap_cell>(u64{0})); }));
            all.emplace_back([&, field, n = commits / committers] {
                widen_log(heap, n * record_of_field);
                all_are_wide.arrive_and_wait();
                for (u64 i = 0; i < n; ++i) {
                    must_do(heap.atomic([&](tx& now) { field->value.set(now, i); }));
                }
            });
        }
        for (std::thread& t : all) t.join();
        ::raise(SIGKILL);
    } catch (const std::exception&) {
        ::_exit(1);
    }
    ::_exit(0);
}

}  // namespace

opening_times measure_opening(const own_options& options, u64 commits) {
    own_options o = options;
    o.epoch = std::chrono::seconds(10);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process for the opening's measurement");
    if (child == 0) commit_and_die(o, commits);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) throw std::runtime_error("the process that was to be killed ended");
    const u64 start = now_ns();
    heap_type heap = open_heap(o);
    opening_times found;
    found.ms = static_cast<double>(now_ns() - start) / 1e6;
    found.records = heap.numbers().recovered_records;
    for (unsigned t = 0; t < committers; ++t) {
        auto field = must_do(heap.root<heap_cell>(field_of(t)));
        const u64 value = must_do(heap.read([&](tx&) -> u64 { return field->value; }));
        if (value != commits / committers - 1) {
            throw std::runtime_error("the last commit is not there");
        }
    }
    must_do(heap.close());
    return found;
}

}  // namespace hf::bench
