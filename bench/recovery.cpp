// Time from a crash to the first answer (Cohen et al., ASPLOS 2019, section 6.3): a child process
// fills a region, leaves an unfinished epoch with a given number of external-log entries, and is
// killed. The region is then recovered repeatedly, each time from a fresh copy.
#include "base/clock.hpp"
#include "base/random.hpp"
#include "bench/processor.hpp"
#include "bench/quantile.hpp"
#include "bench/run.hpp"
#include "bench/subject.hpp"
#include "bench/table.hpp"
#include "checkpoint_map/engine.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ostream>

namespace hf::bench {

namespace {

/// A child's report before it is killed.
struct last_words {
    u64 entries = 0;
    u64 operations = 0;
    u64 region_bytes = 0;
    u8 failed = 0;
    char error[400] = {};
};

template <class D>
result<void> put(engine<D>& machine, u64 number, const std::string& value) {
    const u64 k = key_of(number);
    const std::string_view key(reinterpret_cast<const char*>(&k), sizeof(k));
    operation op(machine.checkpoint());
    auto fresh = machine.tree().make_record(op, key, value);
    if (!fresh) return tl::unexpected(fresh.error());
    auto done = machine.tree().update(
        op, key, [&](const auto*) { return decision{decision::action::store, *fresh}; });
    if (!done) return tl::unexpected(done.error());
    return {};
}

/// Fills a region and leaves an epoch with the requested number of log entries unfinished.
template <class D>
result<last_words> fill(const options& o, const std::filesystem::path& file, u64 records) {
    engine_options all;
    all.file.mode = open_mode::create_new;
    all.file.initial_size = size_for(records, o.value_size);
    all.file.flush = flush_policy::always;
    all.epochs.epoch = no_clock;
    auto machine = engine<D>::open(file, all);
    if (!machine) return tl::unexpected(machine.error());
    epoch_manager& epochs = (*machine)->epochs();
    const std::string value(o.value_size, 'v');
    constexpr u64 batch = 100'000;  // records an epoch
    for (u64 r = 0; r < records; ++r) {
        if (auto done = put(**machine, r, value); !done) return tl::unexpected(done.error());
        if (r % batch == batch - 1) epochs.end_epoch();
    }
    epochs.end_epoch();
    last_words words;
    const u64 before = (*machine)->checkpoint().log_entries();
    xoshiro256ss random(o.seed);
    // In a tree with fewer nodes than log entries, updates would never reach the number.
    const u64 most = 4 * records + 100 * o.log_entries;
    while (words.entries < o.log_entries && words.operations < most) {
        auto done = put(**machine, random.below(records), value);
        if (!done) return tl::unexpected(done.error());
        ++words.operations;
        words.entries = (*machine)->checkpoint().log_entries() - before;
    }
    if (words.entries < o.log_entries) {
        return failure({errc::usage, "fill the log", fmt::format("{} records", records),
                        fmt::format("all their nodes make {} entries, {} are wanted", words.entries,
                                    o.log_entries),
                        "use more --records or fewer --log-entries"});
    }
    words.region_bytes = (*machine)->file().size();
    // From here on no destructor may run: the process is killed.
    (void)machine->release();
    return words;
}

template <class D>
[[noreturn]] void child(const options& o, const std::filesystem::path& file, u64 records,
                        int pipe) {
    // Not the parent's handler: an interrupt ends this process, and the parent sees it.
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    last_words words;
    auto filled = fill<D>(o, file, records);
    if (filled) {
        words = *filled;
    } else {
        words.failed = 1;
        std::strncpy(words.error, filled.error().to_string().c_str(), sizeof(words.error) - 1);
    }
    if (::write(pipe, &words, sizeof(words)) != static_cast<ssize_t>(sizeof(words))) ::_exit(1);
    (void)::kill(::getpid(), SIGKILL);
    ::_exit(1);
}

template <class D>
result<last_words> crash(const options& o, const std::filesystem::path& file, u64 records) {
    int ends[2];
    if (::pipe(ends) != 0) {
        return failure({errc::io, "start a process", "pipe", std::strerror(errno), "try again"});
    }
    const pid_t pid = ::fork();
    if (pid == 0) child<D>(o, file, records, ends[1]);
    ::close(ends[1]);
    last_words words;
    const ssize_t got = pid < 0 ? 0 : ::read(ends[0], &words, sizeof(words));
    ::close(ends[0]);
    int status = 0;
    if (pid > 0) {
        while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
    }
    const bool whole = got == static_cast<ssize_t>(sizeof(words));
    if (whole && words.failed == 0 && WIFSIGNALED(status)) return words;
    return failure({errc::io, "leave a crashed region", file.string(),
                    whole ? std::string(words.error) : "the process that fills it ended early",
                    "see the reason"});
}

struct opening {
    double total_ms = 0;  ///< from the call of open() to the first value read
    double first_get_ms = 0;
    u64 entries = 0;
    std::vector<step_time> steps;
};

template <class D>
result<opening> open_again(const std::filesystem::path& file) {
    engine_options all;
    all.file.mode = open_mode::open_existing;
    all.file.flush = flush_policy::always;
    all.background_pass = false;
    const u64 start = now_ns();
    auto machine = engine<D>::open(file, all);
    if (!machine) return tl::unexpected(machine.error());
    const u64 opened = now_ns();
    bool found = false;
    {
        const u64 k = key_of(0);
        operation op((*machine)->checkpoint());
        found = (*machine)->tree().get(op, {reinterpret_cast<const char*>(&k), sizeof(k)},
                                       [](std::string_view) {});
    }
    const u64 answered = now_ns();
    if (!found) {
        return failure({errc::violation, "read the recovered tree", file.string(),
                        "a record of an earlier epoch is missing", "report this"});
    }
    opening one;
    one.total_ms = static_cast<double>(answered - start) / 1e6;
    one.first_get_ms = static_cast<double>(answered - opened) / 1e6;
    one.entries = (*machine)->checkpoint().recovered_entries();
    one.steps = (*machine)->recovery_steps();
    u64 in_steps = 0;
    for (const step_time& s : one.steps) in_steps += s.ns;
    one.steps.push_back({"rest", opened - start - in_steps});
    return one;
}

template <class D>
result<void> measure_recovery(const options& o, const scratch_space& space, std::ostream& out,
                              nlohmann::json& json) {
    table totals({"discipline", "records", "region MiB", "operations", "entries", "answer ms",
                  "min", "max", "us/entry"});
    std::vector<std::vector<std::string>> step_rows;
    std::vector<std::string> step_head = {"records"};
    for (const u64 records : o.records) {
        if (interrupted()) break;
        const auto original = space.file(fmt::format("crashed-{}", records));
        const auto copy = space.file("copy");
        space.remove(original);
        progress(fmt::format("filling {} records, crashing", records));
        auto words = crash<D>(o, original, records);
        if (!words) {
            space.remove(original);
            return tl::unexpected(words.error());
        }
        std::vector<double> all;
        std::vector<std::vector<double>> steps;
        std::vector<std::string> names;
        nlohmann::json j = {{"discipline", D::name},
                            {"records", records},
                            {"region bytes", words->region_bytes},
                            {"operations in the crashed epoch", words->operations},
                            {"log entries", words->entries}};
        for (unsigned r = 0; r < o.repetitions && !interrupted(); ++r) {
            progress(fmt::format("{} records: opening {} of {}", records, r + 1, o.repetitions));
            std::error_code problem;
            space.remove(copy);
            std::filesystem::copy_file(original, copy, problem);
            result<opening> one =
                tl::unexpected(error{errc::io, "copy the crashed region", copy.string(),
                                     problem.message(), "make room in the directory"});
            if (!problem) one = open_again<D>(copy);
            space.remove(copy);
            if (!one) {
                space.remove(original);
                return tl::unexpected(one.error());
            }
            all.push_back(one->total_ms);
            one->steps.push_back({"first get", static_cast<u64>(one->first_get_ms * 1e6)});
            steps.resize(one->steps.size());
            names.clear();
            nlohmann::json& detail = j["openings"].emplace_back();
            detail["ms"] = one->total_ms;
            detail["entries applied"] = one->entries;
            for (std::size_t s = 0; s < one->steps.size(); ++s) {
                steps[s].push_back(static_cast<double>(one->steps[s].ns) / 1e6);
                names.push_back(one->steps[s].name);
                detail["steps ms"][one->steps[s].name] = steps[s].back();
            }
            words->entries = one->entries;
        }
        space.remove(original);
        totals.add(
            {D::name, std::to_string(records), std::to_string(words->region_bytes >> 20),
             std::to_string(words->operations), std::to_string(words->entries),
             fixed(median(all), 2), fixed(quantile(all, 0), 2), fixed(quantile(all, 1), 2),
             fixed(1e3 * median(all) / static_cast<double>(std::max<u64>(words->entries, 1)), 3)});
        std::vector<std::string> row = {std::to_string(records)};
        for (const auto& s : steps) row.push_back(fixed(median(s), 3));
        if (step_head.size() == 1) step_head.insert(step_head.end(), names.begin(), names.end());
        step_rows.push_back(std::move(row));
        json["results"].push_back(std::move(j));
    }
    end_progress();
    out << "#\n# From open() to the first value read, after SIGKILL\n";
    totals.print(out, 1);
    out << "#\n# Steps, medians in ms\n";
    table by_step(step_head);
    for (auto& row : step_rows) {
        if (row.size() == step_head.size()) by_step.add(std::move(row));
    }
    by_step.print(out, 0);
    return {};
}

}  // namespace

result<void> run_recovery(const options& o, std::ostream& out, nlohmann::json& json) {
    auto space = scratch_space::make(o.directory, o.huge);
    if (!space) return tl::unexpected(space.error());
    describe(o, *space, out, json);
    if (o.disciplines.front().ends_with("-eager")) return run_eager_recovery(o, *space, out, json);
    if (o.disciplines.front() == "logged") {
        return measure_recovery<logged_discipline>(o, *space, out, json);
    }
    return measure_recovery<incll_discipline>(o, *space, out, json);
}

}  // namespace hf::bench
