// recovery/driver.hpp: runs the recovery steps of a region in one fixed order.
//
// Purpose. One driver accompanies a region from its path to its first operation. open_region()
// (opening.hpp) begins it with the first phases and hands it on in opened_region; the rooms above
// add their steps bottom-up, each in a phase, and run() executes those that were added since the
// last run(), in their order. Phases never go backwards: adding a step of an earlier phase than the
// previous one is a programmer's error, which add() detects, and not a crash later.
//
//     header -> journal -> upgrade -> epochs -> format -> logs -> allocator -> discipline
//            -> verification -> service
//
// Recovery. A crash may interrupt each step, which is then run again from its start. If a step
//  fails, recovery ends. From the phase `epochs` on the error names the step; earlier errors name
//  the file and what is wrong with it.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hf {

enum class recovery_phase : u8 {
    header,        ///< read and validate the superblock pair and the directories
    journal,       ///< apply the journal of the last session, if there is one; map the file
    upgrade,       ///< convert rooms' bytes of older formats
    epochs,        ///< read the epoch record and determine the epoch that a crash interrupted
    format,        ///< prepare a new region for its first use
    logs,          ///< apply undo and redo logs of the discipline
    allocator,     ///< determine the heap's free space
    discipline,    ///< find roots, begin the session, open structures
    verification,  ///< complete checks that must precede all operations
    service,       ///< start background threads; operations may begin
};
[[nodiscard]] const char* to_string(recovery_phase phase) noexcept;

struct step_time {
    std::string name;
    u64 ns = 0;
};

class recovery_driver {
   public:
    /// Aborts the process if a step of a later phase was added before, or a step has failed.
    void add(recovery_phase phase, std::string name, std::function<result<void>()> step);
    /// Runs the steps added since the last call.
    [[nodiscard]] result<void> run();
    /// The executed steps, including a failed one.
    [[nodiscard]] std::vector<step_time> report() const { return times_; }
    [[nodiscard]] u64 total_ns() const noexcept;

   private:
    struct named_step {
        recovery_phase phase;
        std::string name;
        std::function<result<void>()> run;
    };
    std::vector<named_step> steps_;
    recovery_phase reached_ = recovery_phase::header;
    std::vector<step_time> times_;
    bool has_failed_ = false;
};

}  // namespace hf
