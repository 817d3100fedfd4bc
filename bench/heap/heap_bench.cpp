// `holdfast bench heap`: transactions on objects, Holdfast's and others', interleaved.
#include "base/clock.hpp"
#include "base/random.hpp"
#include "bench/heap/own_rival.hpp"
#include "bench/heap/rival_library.hpp"
#include "bench/processor.hpp"
#include "bench/quantile.hpp"
#include "bench/run.hpp"
#include "bench/table.hpp"
#include "bench/zipfian.hpp"
#include "persist/counters.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hf::bench {

namespace {

namespace fs = std::filesystem;
using pair = object_rival::pair;

constexpr std::string_view ours = "holdfast";
/// With another engine than redo: "holdfast-undo" and so on.
constexpr std::string_view other_engine = "holdfast-";
constexpr std::string_view nothing_durable = "nodur";
/// Transactions between readings of the clock, which cost a tenth of a short transaction.
constexpr unsigned transactions_a_look = 8;

/// A row of the table: the same work for all contestants.
struct row {
    std::string name;
    object_work work = object_work::nothing;
    u64 swaps = 0;
    u64 value_bytes = 0;
    bool is_zipfian = false;
    unsigned threads = 1;
    unsigned in_flight = 1;
};

/// The set of existing keys: one bit for each, since a cache miss in it would be part of the
/// measurement. Threads that divide the keys by remainder use separate words.
class key_set {
   public:
    static constexpr u64 shares = 32;  ///< a multiple of the number of threads

    explicit key_set(u64 keys = 0)
        : share_words_(keys / (64 * shares) + 1), words_(shares * share_words_) {}
    [[nodiscard]] bool has(u64 k) const { return (word(k) >> k / shares % 64 & 1) != 0; }
    void flip(u64 k) { words_[index(k)] ^= u64{1} << k / shares % 64; }

   private:
    [[nodiscard]] u64 index(u64 k) const { return k % shares * share_words_ + k / (64 * shares); }
    [[nodiscard]] u64 word(u64 k) const { return words_[index(k)]; }
    u64 share_words_;
    std::vector<u64> words_;
};

/// A heap with its expected contents.
struct contestant {
    std::string name;
    fs::path directory;
    std::unique_ptr<object_rival> at_work;
    key_set is_there;
    pair last{};  ///< the value that was overwritten last, and with which word

    contestant() = default;
    contestant(contestant&&) = default;
    contestant& operator=(contestant&&) = default;
    ~contestant() {
        at_work.reset();
        std::error_code ignored;
        if (!directory.empty()) fs::remove_all(directory, ignored);
    }
};

/// Million transactions a second, by repetition. Flushes and fences a transaction, of Holdfast
/// only, by the thread that runs it: without those at the ends of epochs. `lines` are all that
/// were written, flushed and streamed, by all threads.
struct outcome_of {
    std::vector<double> rates;
    double flushes = 0;
    double fences = 0;
    double lines = 0;
};
using outcomes = std::vector<std::pair<std::string, outcome_of>>;

class heap_measurement {
   public:
    heap_measurement(const heap_bench_options& o, std::ostream& out, nlohmann::json& json)
        : o_(o), out_(out), json_(json) {}

    void run() {
        out_ << "elements " << o_.elements << ", array of " << (o_.array_bytes >> 20) << " MiB, "
             << o_.repetitions << " rounds of " << o_.round.count() << " ms, seed " << o_.seed
             << ", files in " << o_.directory.string() << "\n\n";
        json_["options"] = {{"elements", o_.elements},
                            {"array_bytes", o_.array_bytes},
                            {"repetitions", o_.repetitions},
                            {"round_ms", o_.round.count()},
                            {"seed", o_.seed},
                            {"directory", o_.directory.string()}};
        if (wants(heap_part::small)) small();
        if (wants(heap_part::swaps)) swaps();
        if (wants(heap_part::maps)) maps(false);
        if (wants(heap_part::zipfian)) maps(true);
        if (wants(heap_part::threads)) threads();
        if (wants(heap_part::disk)) disk();
        if (wants(heap_part::values)) values();
        if (wants(heap_part::chase)) chase();
        if (wants(heap_part::opening)) opening();
        rates_.print(out_, 2);
        mean_of_durable();
        out_ << '\n';
        targets_.print(out_, 1);
        for (const auto& [name, text] : settings_) out_ << '\n' << name << ": " << text;
        out_ << '\n';
    }

   private:
    [[nodiscard]] bool wants(heap_part p) const {
        return std::find(o_.parts.begin(), o_.parts.end(), p) != o_.parts.end();
    }

    // --- contestants ---
    [[nodiscard]] object_options options_for(const std::string& name, object_work w,
                                             const fs::path& below) const {
        object_options common;
        common.directory = below / fmt::format("hf-bench-heap.{}.{}", ::getpid(), name);
        common.elements = w == object_work::swap ? o_.array_bytes / 8 : o_.elements;
        constexpr u64 least = u64{512} << 20;
        constexpr u64 of_element = 400;
        common.bytes =
            least + (w == object_work::swap ? 2 * o_.array_bytes : of_element * common.elements);
        if (is_own(name)) common.variant = name == nothing_durable ? name : engine_of(name);
        return common;
    }
    [[nodiscard]] static bool is_own(const std::string& name) {
        return name.starts_with(ours) || name == nothing_durable;
    }
    [[nodiscard]] static std::string engine_of(std::string_view name) {
        return std::string(name == ours ? "redo" : name.substr(other_engine.size()));
    }
    [[nodiscard]] static std::string name_of(const std::string& engine) {
        return engine == "redo" ? std::string(ours) : std::string(other_engine) + engine;
    }
    contestant open(const std::string& name, const row& r, const fs::path& below,
                    std::optional<medium_kind> medium) {
        contestant c;
        c.name = name;
        object_options common = options_for(name, r.work, below);
        common.threads = r.threads;
        common.in_flight = r.in_flight;
        if (r.work == object_work::value) {
            common.value_bytes = r.value_bytes;
            common.elements = values_of(r);
            common.bytes = (u64{512} << 20) + 4 * o_.array_bytes;
        }
        fs::create_directories(common.directory);
        c.directory = common.directory;
        if (is_own(name)) {
            c.at_work = open_own({common, medium});
        } else {
            auto rival = open_rival(name, common);
            if (!rival) throw std::runtime_error(rival.error().to_string());
            c.at_work = std::move(*rival);
        }
        settings_[name] = c.at_work->settings();
        return c;
    }
    /// Number of values.
    [[nodiscard]] u64 values_of(const row& r) const {
        return std::max<u64>(1, o_.array_bytes / r.value_bytes);
    }
    [[nodiscard]] std::vector<std::string> everybody() const {
        std::vector<std::string> all;
        for (const std::string& engine : o_.engines) all.push_back(name_of(engine));
        all.emplace_back(nothing_durable);
        all.insert(all.end(), o_.peers.begin(), o_.peers.end());
        return all;
    }
    std::vector<contestant> ready_for(object_work w, const std::vector<std::string>& names,
                                      const fs::path& below) {
        return ready_for(row{{}, w}, names, below);
    }
    std::vector<contestant> ready_for(const row& r, const std::vector<std::string>& names,
                                      const fs::path& below,
                                      std::optional<medium_kind> medium = std::nullopt) {
        std::vector<contestant> all;
        for (const std::string& name : names) {
            contestant c = open(name, r, below, medium);
            if (!c.at_work->does(r.work)) continue;
            progress(name + " makes its data");
            c.at_work->prepare(r.work);
            if (r.work >= object_work::tree) load(c);
            all.push_back(std::move(c));
        }
        return all;
    }
    /// Inserts half of all keys, in random order.
    void load(contestant& c) const {
        xoshiro256ss random(o_.seed);
        c.is_there = key_set(2 * o_.elements);
        std::vector<u64> keys;
        for (u64 k = 0; k < 2 * o_.elements; ++k) {
            if (random.below(2) == 0) continue;
            keys.push_back(k);
            c.is_there.flip(k);
        }
        for (std::size_t i = keys.size(); i > 1; --i) std::swap(keys[i - 1], keys[random.below(i)]);
        c.at_work->load(keys);
    }

    // --- a round ---
    [[nodiscard]] u64 key_for(const row& r, xoshiro256ss& random, unsigned thread,
                              const zipfian& skewed) const {
        const u64 keys = 2 * o_.elements / r.threads;
        u64 k = 0;
        if (r.is_zipfian) {
            splitmix64 scatter(skewed(random));
            k = scatter() % keys;
        } else {
            k = random.below(keys);
        }
        return k * r.threads + thread;  // only this thread uses the key
    }
    void transact(const row& r, contestant& c, xoshiro256ss& random, unsigned thread,
                  std::vector<pair>& places, const zipfian& skewed) const {
        object_rival& him = *c.at_work;
        switch (r.work) {
            case object_work::nothing:
                return him.nothing();
            case object_work::read:
                (void)him.read();
                return;
            case object_work::field:
                return him.set(random());
            case object_work::value:
                c.last = {random.below(values_of(r)), random()};
                return him.overwrite(c.last.first, c.last.second);
            case object_work::swap:
                for (pair& p : places) {
                    p = {random.below(o_.array_bytes / 8), random.below(o_.array_bytes / 8)};
                }
                return him.swap(places);
            default: {
                const u64 k = key_for(r, random, thread, skewed);
                const bool is_there = him.toggle(k);
                if (is_there == c.is_there.has(k)) {
                    throw std::runtime_error(
                        fmt::format("{}: key {} is {}there", c.name, k, is_there ? "" : "not "));
                }
                c.is_there.flip(k);
            }
        }
    }
    /// Runs transactions of one thread until the time is over.
    u64 work_for(const row& r, contestant& c, u64 seed, unsigned thread, u64 ns) const {
        xoshiro256ss random(seed);
        std::vector<pair> places(r.swaps);
        const u64 until = now_ns() + ns;
        u64 done = 0;
        while (now_ns() < until) {
            for (unsigned i = 0; i < transactions_a_look; ++i) {
                transact(r, c, random, thread, places, *skewed_);
            }
            done += transactions_a_look;
        }
        c.at_work->settle();
        return done;
    }
    double round(const row& r, contestant& c, u64 seed, u64 ns) const {
        std::vector<u64> done(r.threads);
        std::vector<std::string> wrong(r.threads);
        const auto work = [&](unsigned t) {
            try {
                done[t] = work_for(r, c, seed * r.threads + t, t, ns);
            } catch (const std::exception& e) {
                wrong[t] = e.what();
            }
        };
        const u64 start = now_ns();
        std::vector<std::thread> others;
        for (unsigned t = 1; t < r.threads; ++t) others.emplace_back(work, t);
        work(0);
        for (std::thread& t : others) t.join();
        const auto took = static_cast<double>(now_ns() - start);
        for (const std::string& w : wrong) {
            if (!w.empty()) throw std::runtime_error(w);
        }
        return static_cast<double>(std::accumulate(done.begin(), done.end(), u64{0})) * 1e3 / took;
    }
    outcomes measure(const row& r, std::vector<contestant>& all) {
        outcomes found;
        for (const contestant& c : all) found.emplace_back(c.name, outcome_of{});
        const auto ns = static_cast<u64>(o_.round.count()) * 1'000'000;
        for (contestant& c : all) (void)round(r, c, o_.seed + 1000, ns / 4);
        for (unsigned i = 0; i < o_.repetitions; ++i) {
            for (std::size_t k = 0; k < all.size(); ++k) {
                progress(
                    fmt::format("{}: {}, {} of {}", r.name, all[k].name, i + 1, o_.repetitions));
                if (interrupted()) throw std::runtime_error("interrupted");
                outcome_of& his = found[k].second;
                const persist_counters before = thread_persist_counters();
                const persist_counters all_before = total_persist_counters();
                const u64 start = now_ns();
                his.rates.push_back(round(r, all[k], o_.seed + i, ns));
                const persist_counters after = thread_persist_counters();
                const double transactions =
                    his.rates.back() * static_cast<double>(now_ns() - start) / 1e3 / r.threads;
                // The minimum: the first transaction of an epoch may also flush leftovers of
                // others.
                const auto least = [&](double& kept, u64 now, u64 then) {
                    const double one = static_cast<double>(now - then) / transactions;
                    kept = i == 0 ? one : std::min(kept, one);
                };
                least(his.flushes, after.flushes, before.flushes);
                least(his.fences, after.fences, before.fences);
                const persist_counters all_after = total_persist_counters();
                const auto bytes = [](const persist_counters& c) {
                    return c.flushed_bytes + c.streamed_bytes;
                };
                const double lines = static_cast<double>(bytes(all_after) - bytes(all_before)) /
                                     line_size / (transactions * r.threads);
                his.lines = i == 0 ? lines : std::min(his.lines, lines);
            }
        }
        tell(r.name, found);
        return found;
    }
    // --- results ---
    void tell(const std::string& what, const outcomes& found) {
        const outcome_of& mine = found.front().second;
        for (const auto& [name, his] : found) {
            const bool is_mine = &his == &mine;
            const double ratio = median(pairwise_ratios(mine.rates, his.rates));
            const auto [least, most] = std::minmax_element(his.rates.begin(), his.rates.end());
            const bool counts = is_own(name);
            rates_.add({what, name, fixed(median(his.rates), 3), fixed(*least, 3), fixed(*most, 3),
                        is_mine ? "" : fixed(ratio, 2), counts ? fixed(his.flushes, 1) : "",
                        counts ? fixed(his.fences, 1) : "", counts ? fixed(his.lines, 1) : ""});
            nlohmann::json j{{"work", what}, {"who", name}, {"mops", his.rates}};
            if (!is_mine) j["ours_to_it"] = ratio;
            if (counts) j["flushes"] = his.flushes;
            if (counts) j["fences"] = his.fences;
            if (counts) j["lines"] = his.lines;
            json_["rates"].push_back(std::move(j));
        }
    }
    [[nodiscard]] static std::optional<double> ratio_to(const outcomes& found,
                                                        std::string_view who) {
        for (const auto& [name, his] : found) {
            if (name == who) return median(pairwise_ratios(found.front().second.rates, his.rates));
        }
        return std::nullopt;
    }
    void judge(const std::string& what, std::optional<double> value, const char* bound,
               double limit, bool at_least) {
        if (!value) return;
        const bool met = at_least ? *value >= limit : *value <= limit;
        targets_.add({what, fixed(*value, 2), std::string(bound) + " " + fixed(limit, 1),
                      met ? "met" : "missed"});
        json_["targets"].push_back({{"what", what},
                                    {"value", *value},
                                    {"limit", limit},
                                    {"at_least", at_least},
                                    {"met", met}});
    }
    void judge_ratio(const std::string& what, const outcomes& found, std::string_view who,
                     double limit) {
        judge(fmt::format("{}: times {}", what, who), ratio_to(found, who), "at least", limit,
              true);
    }
    void keep_durable(const outcomes& found) {
        if (const auto ratio = ratio_to(found, nothing_durable)) to_nodur_.push_back(*ratio);
    }
    void mean_of_durable() {
        if (to_nodur_.empty()) return;
        const double mean = std::accumulate(to_nodur_.begin(), to_nodur_.end(), 0.0) /
                            static_cast<double>(to_nodur_.size());
        judge("durable against nodur, mean of the workloads", mean, "at least", 0.6, true);
    }

    // --- the parts ---
    void small() {
        std::vector<contestant> all = ready_for(object_work::field, everybody(), o_.directory);
        (void)measure({"empty transaction", object_work::nothing}, all);
        const outcomes reads = measure({"read-only: one field", object_work::read}, all);
        judge("read-only: flushes and fences",
              reads.front().second.flushes + reads.front().second.fences, "at most", 0, false);
        const outcomes found = measure({"one field", object_work::field}, all);
        judge_ratio("one field", found, "libpmemobj", 2);
    }
    void swaps() {
        std::vector<contestant> all = ready_for(object_work::swap, everybody(), o_.directory);
        const double limits[] = {2.5, 12, 15};
        const u64 numbers[] = {1, 16, 256};
        std::vector<u64> sums;
        for (contestant& c : all) sums.push_back(c.at_work->sum());
        for (unsigned i = 0; i < 3; ++i) {
            const std::string name = fmt::format("SPS, {} swaps", numbers[i]);
            const outcomes found = measure({name, object_work::swap, numbers[i]}, all);
            judge_ratio(name, found, "libpmemobj", limits[i]);
            keep_durable(found);
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].at_work->sum() == sums[i]) continue;
            throw std::runtime_error(all[i].name + " has lost elements in swapping them");
        }
    }
    void maps(bool is_zipfian) {
        const std::pair<object_work, const char*> kinds[] = {{object_work::tree, "BTree"},
                                                             {object_work::red_black, "RBTree"},
                                                             {object_work::hash, "HashTable"}};
        for (const auto& [work, name] : kinds) {
            std::vector<contestant> all = ready_for(work, everybody(), o_.directory);
            row r{std::string(name) + (is_zipfian ? ", zipfian" : ""), work};
            r.is_zipfian = is_zipfian;
            const outcomes found = measure(r, all);
            judge_ratio(r.name, found, "libpmemobj", 3);
            judge_ratio(r.name, found, "bdb", 10);
            keep_durable(found);
        }
    }
    /// LMDB copies pages on write; the limit is that of the shadow engine.
    void values() {
        constexpr u64 judged_bytes = 4096;
        for (const u64 bytes : {64, 256, 1024, 4096, 16384}) {
            row r{fmt::format("value of {} bytes", bytes), object_work::value};
            r.value_bytes = bytes;
            std::vector<contestant> all = ready_for(r, everybody(), o_.directory);
            for (const contestant& c : all) overwrite_each(r, c);
            const outcomes found = measure(r, all);
            for (const contestant& c : all) {
                if (c.at_work->last_word(c.last.first) == c.last.second) continue;
                throw std::runtime_error(c.name + " has lost the value that it stored last");
            }
            if (o_.engines.front() == "shadow" && bytes <= judged_bytes) {
                judge_ratio(r.name, found, "lmdb", 3);
            }
        }
    }
    /// Memory that a system takes at a value's first change is no part of a change.
    void overwrite_each(const row& r, const contestant& c) const {
        progress(c.name + " overwrites each value once");
        for (u64 i = 0; i < values_of(r); ++i) c.at_work->overwrite(i, i);
    }
    void threads() {
        const std::pair<object_work, const char*> kinds[] = {{object_work::swap, "SPS, 16 swaps"},
                                                             {object_work::tree, "BTree"},
                                                             {object_work::hash, "HashTable"}};
        for (const auto& [work, name] : kinds) {
            std::vector<contestant> all = ready_for(work, {std::string(ours)}, o_.directory);
            outcomes both;
            for (const unsigned n : {2U, 1U}) {
                row r{fmt::format("{}, {} threads", name, n), work};
                r.swaps = work == object_work::swap ? 16 : 0;
                r.threads = n;
                outcomes found = measure(r, all);
                found.front().first = std::to_string(n);
                both.push_back(std::move(found.front()));
            }
            judge(std::string(name) + ": 2 threads to 1", ratio_to(both, "1"), "at least", 1.7,
                  true);
        }
    }
    /// All commits are synchronous: a commit of Holdfast waits for its journal record. With many
    /// threads, or many in flight, they share a sync. Berkeley DB has no asynchronous wait for a
    /// commit.
    void disk() {
        row r{"BTree on the disk", object_work::tree};
        std::vector<std::string> names{std::string(ours)};
        for (const std::string& p : o_.peers) {
            if (p != "libpmemobj") names.push_back(p);
        }
        on_disk(r, names);
        std::erase(names, "lmdb");  // one writer at a time
        r.name = fmt::format("BTree on the disk, {} threads", r.threads = 32);
        on_disk(r, names);
        r.threads = 1;
        r.name = fmt::format("BTree on the disk, {} in flight", r.in_flight = 256);
        on_disk(r, names);
    }
    void on_disk(const row& r, const std::vector<std::string>& names) {
        std::vector<contestant> all = ready_for(r, names, o_.disk, medium_kind::file);
        judge_ratio(r.name, measure(r, all), "bdb", 32);
    }
    void chase() {
        own_options o;
        o.common = options_for("chase", object_work::field, o_.directory);
        fs::create_directories(o.common.directory);
        std::vector<double> ratios;
        for (unsigned i = 0; i < o_.repetitions; ++i) {
            constexpr u64 steps = 10'000'000;
            fs::remove(o.common.directory / "heap.hf");
            const chase_times took = measure_chase(o, steps);
            ratios.push_back(took.heap / took.raw);
            json_["chase"].push_back({{"heap_ns", took.heap}, {"raw_ns", took.raw}});
        }
        fs::remove_all(o.common.directory);
        judge("following a pointer: times a raw one", median(ratios), "at most", 1.3, false);
    }
    void opening() {
        own_options o;
        o.common = options_for("opening", object_work::field, o_.directory);
        o.common.bytes = u64{4} << 30;
        fs::create_directories(o.common.directory);
        std::vector<double> ms;
        u64 records = ~u64{0};  // the minimum
        for (unsigned i = 0; i < o_.repetitions; ++i) {
            fs::remove(o.common.directory / "heap.hf");
            const opening_times found = measure_opening(o, o_.commits);
            ms.push_back(found.ms);
            records = std::min(records, found.records);
            json_["opening"].push_back({{"ms", found.ms}, {"records", found.records}});
        }
        fs::remove_all(o.common.directory);
        const std::string what =
            fmt::format("ms to open behind a kill with {} log records", records);
        if (records >= o_.commits) {
            judge(what, median(ms), "at most", 15, false);
        } else {
            targets_.add({what, fixed(median(ms), 2), "", "not judged: an epoch has ended"});
        }
    }

    const heap_bench_options& o_;
    std::ostream& out_;
    nlohmann::json& json_;
    std::unique_ptr<zipfian> skewed_ = std::make_unique<zipfian>(2 * o_.elements);
    table rates_{
        {"work", "who", "Mtx/s", "least", "most", "ours to it", "flushes", "fences", "lines"}};
    table targets_{{"target", "measured", "bound", ""}};
    std::map<std::string, std::string> settings_;
    std::vector<double> to_nodur_;
};

}  // namespace

result<void> run_heap(const options& o, std::ostream& out, nlohmann::json& json) {
    describe_machine(out, json);
    try {
        heap_measurement(o.heap, out, json).run();
    } catch (const std::exception& e) {
        return failure(
            {errc::io, "measure the heap", o.heap.directory.string(), e.what(),
             "look at the space that is left there, or choose less: --elements, --array"});
    }
    return {};
}

}  // namespace hf::bench
