// hf_engines_micro: the commit engines on the same transactions, in turn, on words of a region.
//
//   hf_engines_micro --engine redo,undo,shadow --mib 64 --rounds 5 --round 200
//
// Each engine has a region of its own on tmpfs, with real write-backs. The engines run each work
// alternately; the output is the median of the rounds, by the thread's processor time. `lines` are
// cache lines written a transaction: flushed and streamed, by all threads, the epochs' ends and
// consolidation included. `fences` are those of the thread that commits.
#include "base/random.hpp"
#include "epoch/epoch_area.hpp"
#include "persist/counters.hpp"
#include "transaction/opening.hpp"
#include "transaction/transaction_area.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace hf::bench {
namespace {

namespace fs = std::filesystem;

struct options {
    std::vector<std::string> engines;
    std::string work;  ///< a part of the works' names
    std::string directory = "/dev/shm";
    u64 mib = 64;  ///< of the values, and of the hash table
    unsigned rounds = 5;
    u64 round_ms = 200;
};

template <class T>
T must_do(tl::expected<T, error> r) {
    if (!r) throw std::runtime_error(r.error().to_string());
    if constexpr (!std::is_void_v<T>) return std::move(*r);
}

/// A region of one engine.
class subject {
   public:
    subject(engine_kind kind, const options& o)
        : kind_(kind),
          path_(fs::path(o.directory) /
                fmt::format("hf-engines.{}.{}", ::getpid(), to_string(kind))) {
        static constexpr layout::room_format rooms[] = {epoch_format, alloc_format,
                                                        transaction_format};
        opening_options how;
        how.file.kind = discipline::transaction;
        how.file.initial_size = (2 * o.mib) << 20;
        how.file.max_size = (16 * o.mib) << 20;
        how.file.flush = flush_policy::always;
        how.rooms = rooms;
        up_ = std::make_unique<transactional_region>(must_do(open_region(path_, how)));
        transaction_options t;
        t.epoch = std::chrono::milliseconds(64);
        t.engine = kind;
        must_do(transaction_opening(*up_, t).run());
    }
    subject(subject&&) = default;
    subject& operator=(subject&&) = delete;
    ~subject() {
        if (up_ == nullptr) return;
        up_.reset();
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    [[nodiscard]] engine_kind kind() const { return kind_; }
    [[nodiscard]] transactional_region& up() const { return *up_; }
    template <class F>
    void run(F&& f) const {
        must_do(up_->all().atomic(f));
    }
    [[nodiscard]] u64* at(u64 offset) const { return up_->file().at<u64>(offset); }

    std::vector<u64> places;  ///< of blocks, as offsets
    std::vector<u64> value;   ///< stored as a whole

   private:
    engine_kind kind_;
    fs::path path_;
    std::unique_ptr<transactional_region> up_;
};

struct work {
    std::string name;
    std::function<void(subject&, const options&)> prepare;
    std::function<void(subject&, xoshiro256ss&)> once;
};

/// Allocates `count` blocks of `bytes`, several in each transaction.
void make_blocks(subject& s, u64 count, u64 bytes) {
    s.places.clear();
    while (s.places.size() < count) {
        const u64 until = std::min(count, s.places.size() + 64);
        s.run([&](transaction& t) {
            std::vector<u64> made;
            for (u64 i = s.places.size(); i < until; ++i) {
                std::byte* const p = t.allocate(bytes);
                for (u64 b = 0; b < bytes; b += 8) t.store(reinterpret_cast<u64*>(p + b), i);
                made.push_back(static_cast<u64>(p - t.base()));
            }
            // The only attempt: no other thread runs.
            s.places.insert(s.places.end(), made.begin(), made.end());
        });
    }
}

work words(u64 count) {
    return {fmt::format("{} words, scattered", count),
            [](subject& s, const options& o) { make_blocks(s, (o.mib << 20) / 4096, 4096); },
            [count](subject& s, xoshiro256ss& random) {
                const u64 value = random();
                s.run([&](transaction& t) {
                    for (u64 i = 0; i < count; ++i) {
                        t.store(s.at(s.places[random.below(s.places.size())]) + random.below(512),
                                value);
                    }
                });
            }};
}

work values(u64 bytes) {
    return {fmt::format("value of {} B, in place", bytes),
            [bytes](subject& s, const options& o) { make_blocks(s, (o.mib << 20) / bytes, bytes); },
            [bytes](subject& s, xoshiro256ss& random) {
                u64* const p = s.at(s.places[random.below(s.places.size())]);
                s.value.assign(bytes / 8, random());
                s.run([&](transaction& t) { t.store_bytes(p, s.value.data(), bytes); });
            }};
}

work replaced(u64 bytes) {
    return {fmt::format("value of {} B, made anew", bytes),
            [bytes](subject& s, const options& o) {
                make_blocks(s, (o.mib << 20) / 4 / bytes + 1, bytes);
                const std::vector<u64> made = s.places;
                make_blocks(s, (made.size() + 511) / 512, 4096);
                for (u64 i = 0; i < made.size(); i += 64) {
                    s.run([&](transaction& t) {
                        for (u64 k = i; k < std::min<u64>(made.size(), i + 64); ++k) {
                            t.store(s.at(s.places[k / 512]) + k % 512, made[k]);
                        }
                    });
                }
                s.places.push_back(made.size());
            },
            [bytes](subject& s, xoshiro256ss& random) {
                const u64 k = random.below(s.places.back());
                u64* const pointer = s.at(s.places[k / 512]) + k % 512;
                const u64 value = random();
                s.run([&](transaction& t) {
                    t.release(t.base() + t.load(pointer), bytes);
                    std::byte* const p = t.allocate(bytes);
                    for (u64 b = 0; b < bytes; b += 8)
                        t.store(reinterpret_cast<u64*>(p + b), value);
                    t.store(pointer, static_cast<u64>(p - t.base()));
                });
            }};
}

/// Chains of nodes {key, value, next} of 32 bytes: a key that is there is removed, another
/// inserted.
work hash_table() {
    static constexpr u64 node_bytes = 32;
    const auto toggle = [](subject& s, u64 key) {
        const u64 buckets = s.places.size() * 512;
        const u64 b = splitmix64(key)() % buckets;
        u64* const head = s.at(s.places[b / 512]) + b % 512;
        s.run([&](transaction& t) {
            u64* link = head;
            for (u64 n = t.load(link); n != 0; n = t.load(link)) {
                u64* const node = s.at(n);
                if (t.load(node) == key) {
                    t.store(link, t.load(node + 2));
                    t.release(node, node_bytes);
                    return;
                }
                link = node + 2;
            }
            auto* const made = reinterpret_cast<u64*>(t.allocate(node_bytes));
            t.store(made, key);
            t.store(made + 1, key);
            t.store(made + 2, t.load(head));
            t.store(head, static_cast<u64>(reinterpret_cast<std::byte*>(made) - t.base()));
        });
    };
    const auto keys = [](const subject& s) { return s.places.size() * 512; };
    return {"hash table, insert or remove",
            [=](subject& s, const options& o) {
                make_blocks(s, (o.mib << 20) / 8 / 4096, 4096);
                for (const u64 p : s.places) {
                    s.run([&](transaction& t) {
                        for (u64 i = 0; i < 512; ++i) t.store(s.at(p) + i, 0);
                    });
                }
                for (u64 k = 0; k < keys(s); k += 2) toggle(s, k);
            },
            [=](subject& s, xoshiro256ss& random) { toggle(s, random.below(keys(s))); }};
}

struct outcome {
    std::vector<double> rates;  ///< thousand transactions a second
    double lines = 0;
    double fences = 0;
    double consolidated = 0;  ///< lines
};

/// Processor time of this thread: other programs may have the processor meanwhile.
u64 cpu_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<u64>(t.tv_sec) * 1'000'000'000 + static_cast<u64>(t.tv_nsec);
}

/// Until each place was changed some times: first touches of memory are no part of a commit.
void warm_up(subject& s, const work& w) {
    constexpr u64 times = 6;
    constexpr u64 most_ns = 4'000'000'000;
    xoshiro256ss random(1);
    const u64 start = cpu_ns();
    for (u64 i = 0; i < times * s.places.size() && cpu_ns() < start + most_ns; ++i) {
        w.once(s, random);
    }
}

double median(std::vector<double> v) {
    std::ranges::sort(v);
    return v[v.size() / 2];
}

void one_round(subject& s, const work& w, const options& o, u64 seed, outcome& out) {
    xoshiro256ss random(seed);
    const persist_counters all = total_persist_counters();
    const persist_counters mine = thread_persist_counters();
    const engine_numbers before = s.up().engine_numbers_now();
    const u64 start = cpu_ns();
    u64 done = 0;
    const u64 length = o.round_ms * 1'000'000;
    // Reading the clock is a call of the kernel: some dozens in a round.
    u64 now = start;
    for (u64 batch = 1; now < start + length;) {
        const u64 before_batch = now;
        for (u64 i = 0; i < batch; ++i, ++done) w.once(s, random);
        now = cpu_ns();
        if (now - before_batch < length / 64) batch *= 2;
    }
    const auto took = static_cast<double>(now - start);
    // The end of the epoch writes back lines of this round.
    s.up().epochs().end_epoch();
    const persist_counters end = total_persist_counters();
    const auto n = static_cast<double>(done);
    out.rates.push_back(n * 1e6 / took);
    out.lines = static_cast<double>(end.flushed_bytes - all.flushed_bytes + end.streamed_bytes -
                                    all.streamed_bytes) /
                64 / n;
    out.fences = static_cast<double>(thread_persist_counters().fences - mine.fences) / n;
    out.consolidated = static_cast<double>(s.up().engine_numbers_now().consolidated_lines -
                                           before.consolidated_lines) /
                       n;
}

void measure(const work& w, const options& o) {
    std::vector<subject> all;
    for (const engine_kind k : all_engines()) {
        const auto named = std::ranges::find(o.engines, to_string(k));
        if (!o.engines.empty() && named == o.engines.end()) continue;
        all.emplace_back(k, o);
        w.prepare(all.back(), o);
    }
    std::vector<outcome> found(all.size());
    for (subject& s : all) warm_up(s, w);
    for (unsigned r = 0; r < o.rounds; ++r) {
        for (std::size_t i = 0; i < all.size(); ++i) one_round(all[i], w, o, r + 2, found[i]);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const engine_numbers n = all[i].up().engine_numbers_now();
        fmt::print("{:<30} {:<8} {:>10.1f} {:>9.2f} {:>8.2f} {:>12.2f} {:>9} {:>9}\n", w.name,
                   to_string(all[i].kind()), median(found[i].rates), found[i].lines,
                   found[i].fences, found[i].consolidated, n.slots, n.slots - n.free_slots);
    }
    std::fflush(stdout);
}

}  // namespace
}  // namespace hf::bench

int main(int argc, char** argv) {
    using namespace hf::bench;
    options o;
    CLI::App app("The commit engines on the same transactions, in turn.", "hf_engines_micro");
    app.add_option("--engine", o.engines, "Which (default: all)")->delimiter(',');
    app.add_option("--work", o.work, "Only works with this in their names");
    app.add_option("--mib", o.mib, "MiB of values")
        ->check(CLI::Range(8, 4096))
        ->capture_default_str();
    app.add_option("--rounds", o.rounds, "Rounds")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    app.add_option("--round", o.round_ms, "Milliseconds of a round")->capture_default_str();
    app.add_option("--dir", o.directory, "Where the regions are made")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    fmt::print("{:<30} {:<8} {:>10} {:>9} {:>8} {:>12} {:>9} {:>9}\n", "work", "engine", "ktx/s",
               "lines", "fences", "consolidated", "slots", "in use");
    try {
        std::vector<work> all{words(1), words(8), hash_table()};
        for (const hf::u64 bytes : {64, 256, 1024, 4096, 16384, 65536})
            all.push_back(values(bytes));
        for (const hf::u64 bytes : {256, 4096}) all.push_back(replaced(bytes));
        for (const work& w : all) {
            if (w.name.find(o.work) != std::string::npos) measure(w, o);
        }
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}\n", e.what());
        return 1;
    }
    return 0;
}
