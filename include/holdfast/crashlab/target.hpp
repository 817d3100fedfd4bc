// holdfast/crashlab/target.hpp: what the crash lab explores: a workload, and what recovery must
// make of its remains. See docs/crashlab.md.
//
// Everything that a target does must follow from its seed alone: runs are repeated.
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

/// Files that a target may have, at most.
inline constexpr unsigned most_files = 4;
/// Their paths. A region of target_description::files opens them in this order.
inline constexpr const char* file_paths[most_files] = {"/lab/region", "/lab/region1",
                                                       "/lab/region2", "/lab/region3"};
/// The first one's, which is all that most targets need.
inline constexpr const char* file_path = file_paths[0];

/// Says what is wrong with what came back.
class violation : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

inline void require(bool holds, const char* what) {
    if (!holds) throw violation(what);
}

/// An operation of a workload, as the trace tells of it. Moments are counted in events.
struct told_operation {
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    unsigned thread = 0;
    std::uint64_t begun = 0;
    std::uint64_t returned = never;
    std::uint64_t result = 0;  ///< as end_operation() was given it

    [[nodiscard]] bool has_returned() const noexcept { return returned != never; }
};

/// What had been promised up to one moment, by either kind of discipline.
struct promised {
    std::uint64_t epoch = 0;  ///< the newest one that was announced as durable; 0: none
    std::map<std::uint64_t, told_operation> operations;  ///< that have begun, by number

    [[nodiscard]] bool has_begun(std::uint64_t number) const { return operations.contains(number); }
    [[nodiscard]] bool has_returned(std::uint64_t number) const {
        const auto found = operations.find(number);
        return found != operations.end() && found->second.has_returned();
    }
};

/// Tells the trace that the calling thread begins an operation. Numbers are the target's, each used
/// once, in work that comes after a crash, too.
void begin_operation(std::uint64_t number);
/// It returns: from here on what it did is promised, where the discipline promises operations.
void end_operation(std::uint64_t number, std::uint64_t result = 0);

/// Something that was at work when the crash came. It overrides one of the two ways to recover,
/// after what it was promised.
class victim {
   public:
    virtual ~victim() = default;
    /// Its volatile parts go. It still knows what must be found again.
    virtual void crash() = 0;
    /// Recovers the image; `announced`: the epoch that was promised, or 0. Throws violation.
    [[nodiscard]] virtual std::unique_ptr<class survivor> recover(std::uint64_t announced);
    /// Recovers the image; everything that has returned must be there, and what is there must have
    /// begun. Throws violation.
    [[nodiscard]] virtual std::unique_ptr<class survivor> recover_after(const promised& all);
};

/// What the recovery of one image came to. It may be the next crash's victim.
class survivor : public victim {
   public:
    /// Questions that don't depend on one another; each is explored by itself.
    [[nodiscard]] virtual unsigned questions() const = 0;
    virtual void ask(unsigned number) = 0;
    /// What questions leave in ordinary memory goes (lists of dirty lines, counters): the region
    /// has been put back. Called after each question.
    virtual void forget() {}
    [[nodiscard]] virtual std::string describe(unsigned number) const {
        return "question " + std::to_string(number);
    }
    /// Everything, at once: contents and structure.
    virtual void inspect() = 0;
    /// Further work, so that the remains are used.
    virtual void work_on() {}
};

inline std::unique_ptr<survivor> victim::recover(std::uint64_t) {
    throw std::logic_error("a target overrides recover() or recover_after()");
}

inline std::unique_ptr<survivor> victim::recover_after(const promised& all) {
    return recover(all.epoch);
}

/// A workload.
class target : public victim {
   public:
    /// Makes the state that the trace begins with. Nothing is recorded, all of it is durable.
    virtual void prepare() {}
    /// The recorded workload. With threads() > 1, run_thread() of each comes behind it, on fibers.
    virtual void run() = 0;
    [[nodiscard]] virtual unsigned threads() const { return 1; }
    virtual void run_thread(unsigned) {}
    /// How many steps (loads, stores, locks) the threads make together, more or less; 0: unknown.
    /// Preemptions are drawn among them.
    [[nodiscard]] virtual std::uint64_t about_steps() const { return 0; }
    /// Judges what the operations of the run returned: what threads have read must be explainable.
    /// Called behind crash(), before any crash is explored. Throws violation.
    virtual void judge_run(const promised&) const {}
    /// For the timeline.
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
    /// Persist points that it must reach.
    std::vector<std::string_view> points;
    /// Instead of `make`: a target on disks (crashlab/disk).
    const disk_target* disk = nullptr;
    /// Its discipline's (holdfast/crashlab/rules.hpp); nullptr: those of checkpointing.
    const lint_rules* rules = nullptr;
    /// Files that it may have, file_paths[0] first.
    unsigned files = 1;
    /// Its threads are worth many schedules: each round adds some with few states of each.
    bool has_threads = false;
};

}  // namespace hf::lab
