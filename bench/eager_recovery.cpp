// Time from a crash of an eager index to the first answer, and duration of the sweep
// (docs/eager.md). One child process fills a region and is killed. Further children each open it,
// read a value, wait until the sweep has ended, and are killed. So each open() follows a kill.
#include "base/clock.hpp"
#include "bench/processor.hpp"
#include "bench/quantile.hpp"
#include "bench/run.hpp"
#include "bench/table.hpp"
#include "eager_map/engine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <ostream>

namespace hf::bench {

namespace {

// The project's targets (10 M keys).
constexpr double most_answer_ms = 10;
constexpr double least_million_objects = 10;  // per second and core

/// A child's report before it is killed.
struct eager_last_words {
    double answer_ms = 0;  ///< from the call of open() to the first value read
    double open_ms = 0;    ///< part of it: until open() returned
    u64 region_bytes = 0;
    swept_heap::sweep_figures sweep;
    u8 failed = 1;
    char error[400] = {};
};

/// An index of integers; or, for values that are not eight bytes long, of byte strings, whose
/// records are separate objects.
template <class Key, class Owned>
class crashing_index {
   public:
    using opened = std::unique_ptr<detail::eager_engine<Key, Owned>>;
    static constexpr bool is_integer = std::is_same_v<Key, u64>;

    static result<eager_last_words> fill(const std::filesystem::path& file,
                                         const std::string& index, u64 records, u32 value_size) {
        auto engine = open(file, index, (u64{64} << 20) + records * (200 + value_size));
        if (!engine) return tl::unexpected(engine.error());
        constexpr u64 at_once = 1024;
        std::vector<numbered> texts(at_once);
        std::vector<std::pair<Key, Key>> entries;
        for (u64 first = 0; first < records; first += at_once) {
            entries.clear();
            for (u64 i = 0; i < std::min(at_once, records - first); ++i) {
                texts[i].set(first + i, value_size);
                entries.push_back(texts[i].entry());
            }
            auto done = (*engine)->insert_many(entries);
            if (!done) return tl::unexpected(done.error());
        }
        // From here on no destructor may run: the process is killed.
        (void)engine->release();
        return eager_last_words{};
    }

    static result<eager_last_words> open_and_sweep(const std::filesystem::path& file,
                                                   u32 value_size) {
        numbered wanted;
        wanted.set(0, value_size);
        const auto [key, value] = wanted.entry();
        Owned found{};
        const u64 start = now_ns();
        auto engine = open(file, "", 0);
        if (!engine) return tl::unexpected(engine.error());
        const u64 opened_at = now_ns();
        const bool is_there = (*engine)->get(key, found);
        const u64 answered = now_ns();
        if (!is_there || found != value) {
            return failure({errc::violation, "read the recovered index", file.string(),
                            "a record that was there before the crash is not", "report this"});
        }
        eager_space& space = (*engine)->space();
        if (auto swept = space.wait_for_sweep(); !swept) return tl::unexpected(swept.error());
        eager_last_words words;
        words.answer_ms = static_cast<double>(answered - start) / 1e6;
        words.open_ms = static_cast<double>(opened_at - start) / 1e6;
        words.region_bytes = space.file().size();
        words.sweep = space.last_sweep();
        (void)engine->release();
        return words;
    }

   private:
    /// A record's key and value, with their storage.
    struct numbered {
        u64 key = 0;
        u64 number = 0;
        std::string text;
        void set(u64 n, u32 value_size) {
            key = key_of(n);
            number = n;
            if (is_integer) return;
            text.assign(value_size, 'v');
            std::memcpy(text.data(), &n, std::min<std::size_t>(text.size(), sizeof(n)));
        }
        [[nodiscard]] std::pair<Key, Key> entry() const {
            if constexpr (is_integer) {
                return {key, number};
            } else {
                return {{reinterpret_cast<const char*>(&key), sizeof(key)}, text};
            }
        }
    };
    static result<opened> open(const std::filesystem::path& file, const std::string& index,
                               u64 new_bytes) {
        eager_map_options o;
        o.index = index;
        o.region.mode = new_bytes != 0 ? open_mode::create_new : open_mode::open_existing;
        if (new_bytes != 0) o.region.initial_size = new_bytes;
        o.region.flush = flush_policy::always;
        return detail::open_engine<Key, Owned>(file, o);
    }
};
using crashing_numbers = crashing_index<u64, u64>;
using crashing_strings = crashing_index<std::string_view, std::string>;

using eager_task = std::function<result<eager_last_words>()>;

[[noreturn]] void be_killed_after(const eager_task& task, int pipe) {
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    eager_last_words words;
    auto done = task();
    if (done) {
        words = *done;
        words.failed = 0;
    } else {
        std::strncpy(words.error, done.error().to_string().c_str(), sizeof(words.error) - 1);
    }
    if (::write(pipe, &words, sizeof(words)) != static_cast<ssize_t>(sizeof(words))) ::_exit(1);
    (void)::kill(::getpid(), SIGKILL);
    ::_exit(1);
}

result<eager_last_words> in_killed_child(const eager_task& task) {
    int ends[2];
    if (::pipe(ends) != 0) {
        return failure({errc::io, "start a process", "pipe", std::strerror(errno), "try again"});
    }
    const pid_t pid = ::fork();
    if (pid == 0) be_killed_after(task, ends[1]);
    ::close(ends[1]);
    eager_last_words words;
    const ssize_t got = pid < 0 ? 0 : ::read(ends[0], &words, sizeof(words));
    ::close(ends[0]);
    int status = 0;
    while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    const bool whole = got == static_cast<ssize_t>(sizeof(words));
    if (whole && words.failed == 0 && WIFSIGNALED(status)) return words;
    return failure({errc::io, "open a crashed region", "a child",
                    whole ? std::string(words.error) : "the process ended early",
                    "see the reason"});
}

/// The results for one index and number of records.
struct eager_openings {
    std::string index;
    u64 records = 0;
    std::vector<eager_last_words> all;

    template <class F>
    [[nodiscard]] double median_of(F&& value) const {
        std::vector<double> values;
        for (const eager_last_words& w : all) values.push_back(static_cast<double>(value(w)));
        return median(values);
    }
    [[nodiscard]] double answer_ms() const {
        return median_of([](const eager_last_words& w) { return w.answer_ms; });
    }
    /// Per second, with one sweeping thread. Counts records that are stored in nodes as objects,
    /// too.
    [[nodiscard]] double million_objects() const {
        return median_of([this](const eager_last_words& w) {
            const auto ns = static_cast<double>(w.sweep.trace_ns + w.sweep.free_ns);
            return static_cast<double>(std::max(w.sweep.reached, records) + w.sweep.freed) * 1e3 /
                   ns;
        });
    }
};

result<eager_openings> crash_and_open(const std::string& index, u64 records, const options& o,
                                      const scratch_space& space) {
    const auto file = space.file("crashed-" + index);
    space.remove(file);
    eager_openings found{index, records, {}};
    progress(fmt::format("{}: filling {} records, crashing", index, records));
    const bool integers = o.value_size == sizeof(u64);
    auto filled = in_killed_child([&] {
        return integers ? crashing_numbers::fill(file, index, records, o.value_size)
                        : crashing_strings::fill(file, index, records, o.value_size);
    });
    for (unsigned r = 0; filled && r < o.repetitions && !interrupted(); ++r) {
        progress(fmt::format("{}: opening {} of {}", index, r + 1, o.repetitions));
        filled = in_killed_child([&] {
            return integers ? crashing_numbers::open_and_sweep(file, o.value_size)
                            : crashing_strings::open_and_sweep(file, o.value_size);
        });
        if (filled) found.all.push_back(*filled);
    }
    space.remove(file);
    if (!filled) return tl::unexpected(filled.error());
    return found;
}

nlohmann::json as_json(const eager_openings& of) {
    nlohmann::json j = {{"discipline", of.index + "-eager"},
                        {"records", of.records},
                        {"answer ms", of.answer_ms()},
                        {"million objects a second", of.million_objects()}};
    for (const eager_last_words& w : of.all) {
        j["openings"].push_back({{"ms", w.answer_ms},
                                 {"open ms", w.open_ms},
                                 {"region bytes", w.region_bytes},
                                 {"objects reached", w.sweep.reached},
                                 {"objects freed", w.sweep.freed},
                                 {"trace ns", w.sweep.trace_ns},
                                 {"free ns", w.sweep.free_ns}});
    }
    j["targets"] = {{"answer ms", of.answer_ms() <= most_answer_ms},
                    {"million objects a second", of.million_objects() >= least_million_objects}};
    return j;
}

void add_row(table& t, const eager_openings& of) {
    const auto word = [](bool met) { return met ? "met" : "missed"; };
    const eager_last_words& last = of.all.back();
    t.add({of.index, std::to_string(of.records), std::to_string(last.region_bytes >> 20),
           fixed(of.answer_ms(), 2), word(of.answer_ms() <= most_answer_ms),
           std::to_string(last.sweep.reached), std::to_string(last.sweep.freed),
           fixed(of.median_of([](const auto& w) { return w.sweep.trace_ns / 1'000'000; }), 0),
           fixed(of.median_of([](const auto& w) { return w.sweep.free_ns / 1'000'000; }), 0),
           fixed(of.million_objects(), 1), word(of.million_objects() >= least_million_objects)});
}

}  // namespace

result<void> run_eager_recovery(const options& o, const scratch_space& space, std::ostream& out,
                                nlohmann::json& json) {
    table t({"index", "records", "region MiB", "answer ms", "<= 10", "reached", "freed", "trace ms",
             "free ms", "Mobjects/s", ">= 10"});
    for (const std::string& subject : o.disciplines) {
        for (const u64 records : o.records) {
            if (interrupted()) break;
            auto found = crash_and_open(subject.substr(0, subject.find('-')), records, o, space);
            if (!found) return tl::unexpected(found.error());
            if (found->all.empty()) break;
            add_row(t, *found);
            json["results"].push_back(as_json(*found));
        }
    }
    end_progress();
    out << "#\n# From open() to the first value read, after SIGKILL; then the sweep, by a thread "
           "of its own\n";
    t.print(out, 1);
    return {};
}

}  // namespace hf::bench
