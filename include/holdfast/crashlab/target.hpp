// holdfast/crashlab/target.hpp: a target of the crash lab: a workload, and a check of the state
// that recovery restores. See docs/crashlab.md.
//
// A target must be a deterministic function of its seed: the lab repeats runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hf::lab {

/// Maximum number of files of a target.
inline constexpr unsigned most_files = 4;
/// Their paths. The regions of a target open them in this order (target_description::files).
inline constexpr const char* file_paths[most_files] = {"/lab/region", "/lab/region1",
                                                       "/lab/region2", "/lab/region3"};
/// The path of the first file, which is all that most targets need.
inline constexpr const char* file_path = file_paths[0];

/// Thrown by a target when a recovered state is wrong; says why.
class violation : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

inline void require(bool holds, const char* what) {
    if (!holds) throw violation(what);
}

/// An operation of a workload, as recorded in the trace. Times are counted in events.
struct told_operation {
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    unsigned thread = 0;
    std::uint64_t begun = 0;
    std::uint64_t returned = never;
    std::uint64_t result = 0;  ///< the argument of end_operation()

    [[nodiscard]] bool has_returned() const noexcept { return returned != never; }
};

/// Everything that had been promised up to a moment, by epochs or by single operations.
struct promised {
    std::uint64_t epoch = 0;  ///< newest epoch announced as durable; 0: none
    std::map<std::uint64_t, told_operation> operations;  ///< those that have begun, by number

    [[nodiscard]] bool has_begun(std::uint64_t number) const { return operations.contains(number); }
    [[nodiscard]] bool has_returned(std::uint64_t number) const {
        const auto found = operations.find(number);
        return found != operations.end() && found->second.has_returned();
    }
};

/// Records in the trace that the calling thread begins an operation. The target chooses the number;
/// each is used once, also by operations after a crash.
void begin_operation(std::uint64_t number);
/// Records that it returns. With a discipline of single operations it is promised from here on.
void end_operation(std::uint64_t number, std::uint64_t result = 0);

/// A workload that a crash interrupts. It overrides one of the two ways to recover, depending on
/// what its discipline promises.
class victim {
   public:
    virtual ~victim() = default;
    /// Discards the volatile state, except the record of what recovery must restore.
    virtual void crash() = 0;
    /// Recovers the image. `announced`: newest epoch that was promised, or 0. Throws violation.
    [[nodiscard]] virtual std::unique_ptr<class survivor> recover(std::uint64_t announced);
    /// Recovers the image. Every operation that returned must be there, and every operation that is
    /// there must have begun. Throws violation.
    [[nodiscard]] virtual std::unique_ptr<class survivor> recover_after(const promised& all);
};

/// The recovered state of one image. It may be interrupted by a further crash.
class survivor : public victim {
   public:
    /// Number of independent checks; the lab explores each of them separately.
    [[nodiscard]] virtual unsigned questions() const = 0;
    virtual void ask(unsigned number) = 0;
    /// Discards volatile state of a check (lists of dirty lines, counters), because the lab has
    /// restored the region. Called after each check.
    virtual void forget() {}
    [[nodiscard]] virtual std::string describe(unsigned number) const {
        return "question " + std::to_string(number);
    }
    /// Checks everything in one call: contents and structure.
    virtual void inspect() = 0;
    /// Runs further operations on the recovered state.
    virtual void work_on() {}
};

inline std::unique_ptr<survivor> victim::recover(std::uint64_t) {
    throw std::logic_error("a target overrides recover() or recover_after()");
}

inline std::unique_ptr<survivor> victim::recover_after(const promised& all) {
    return recover(all.epoch);
}

/// A workload to explore.
class target : public victim {
   public:
    /// Creates the initial state. It is not recorded, and durable as a whole.
    virtual void prepare() {}
    /// The recorded workload. With threads() > 1, run_thread() of each follows it, on fibers.
    virtual void run() = 0;
    [[nodiscard]] virtual unsigned threads() const { return 1; }
    virtual void run_thread(unsigned) {}
    /// Approximate number of steps (loads, stores, locks) of all threads; preemptions are drawn
    /// among them. 0: unknown.
    [[nodiscard]] virtual std::uint64_t about_steps() const { return 0; }
    /// Checks the results of the run's operations: values that threads read must be explainable.
    /// Called after crash(), before any crash is explored. Throws violation.
    virtual void judge_run(const promised&) const {}
    /// An operation's text in the timeline.
    [[nodiscard]] virtual std::string describe_operation(std::uint64_t number) const {
        return "operation " + std::to_string(number);
    }
};

class disk_target;
struct lint_rules;

struct target_description {
    std::string_view name;
    std::string_view room;
    std::string_view what;
    std::function<std::unique_ptr<target>(std::uint64_t seed)> make;
    /// Persist points that the target must reach.
    std::vector<std::string_view> points;
    /// A target on model disks (crashlab/disk), in place of `make`.
    const disk_target* disk = nullptr;
    /// Lint rules of its discipline (holdfast/crashlab/rules.hpp); nullptr: those of checkpointing.
    const lint_rules* rules = nullptr;
    /// Number of files, file_paths[0] first.
    unsigned files = 1;
    /// Explore many schedules of its threads: each round adds some, with a few states of each.
    bool has_threads = false;
};

}  // namespace hf::lab
