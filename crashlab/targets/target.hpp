// targets/target.hpp: what is explored: a workload, and what recovery must make of its remains.
//
// A target of one's own is a class like these; docs/crashlab.md and examples/ show one. Everything
// that it does must follow from the seed alone: runs are repeated.
#pragma once

#include "base/bits.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hf::lab {

/// Says what is wrong with what came back.
class violation : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
};

inline void require(bool holds, const char* what) {
    if (!holds) throw violation(what);
}

/// Something that was at work when the crash came.
class victim {
   public:
    virtual ~victim() = default;
    /// Its volatile parts go. It still knows what must be found again.
    virtual void crash() = 0;
    /// Recovers the image; `announced`: the epoch that was promised, or 0. Throws violation.
    [[nodiscard]] virtual std::unique_ptr<class survivor> recover(u64 announced) = 0;
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
    [[nodiscard]] virtual u64 about_steps() const { return 0; }
};

struct counts;

/// The power went at so many calls of the disks; the draw says what these had taken.
struct disk_finding {
    std::string what;
    u32 calls = 0;
    u32 draw = 0;
};

/// A target that is no region in memory, and explores itself: files on model disks (disk/).
class disk_target {
   public:
    virtual ~disk_target() = default;
    /// All crash points of the seed's run; `draws` images of each, or all there are.
    [[nodiscard]] virtual std::optional<disk_finding> explore(
        u64 seed, u64 draws, counts& counted, const std::function<bool()>& out_of_time) const = 0;
    [[nodiscard]] virtual std::optional<std::string> replay(u64 seed, u32 calls,
                                                            u32 draw) const = 0;
};

struct target_description {
    std::string_view name;
    std::string_view room;
    std::string_view what;
    std::function<std::unique_ptr<target>(u64 seed)> make;
    /// Persist points that it must reach.
    std::vector<std::string_view> points;
    /// Instead of `make`.
    const disk_target* disk = nullptr;
};

[[nodiscard]] const std::vector<target_description>& all_targets();

}  // namespace hf::lab
