// recovery/driver.hpp: the one order in which a region is brought back.
//
// Purpose. Rooms add their steps from the ground up, each in a phase, and run() executes them in
// the order in which they were added. Phases never go backwards: a step of an earlier phase than
// the one before it is a programmer's error, told when it is added and not when a crash needs it.
//
//     header -> journal -> upgrade -> format -> logs -> allocator -> discipline
//            -> verification -> service
//
// Recovery. Each step must stand being cut short by a crash and run again from its start; a step
//  that fails ends the recovery, and its error says in which step that was.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <functional>
#include <string>
#include <vector>

namespace hf {

enum class recovery_phase : u8 {
    header,        ///< the superblock pair, the directories, the epoch record are read and judged
    journal,       ///< the base is brought up to date (medium `file`)
    upgrade,       ///< rooms' bytes of older formats become those of today
    format,        ///< what a region just made needs before it can be used
    logs,          ///< undo and redo logs of the discipline are applied
    allocator,     ///< the heap knows what is free
    discipline,    ///< roots are found, the session begins, structures are opened
    verification,  ///< what must be looked through before anybody else comes
    service,       ///< threads of our own start; operations may come
};
[[nodiscard]] const char* to_string(recovery_phase phase) noexcept;

struct step_time {
    std::string name;
    u64 ns = 0;
};

class recovery_driver {
   public:
    /// Aborts when a step of a later phase was added before.
    void add(recovery_phase phase, std::string name, std::function<result<void>()> step);
    /// At most once.
    [[nodiscard]] result<void> run();
    /// The steps that ran, the one that failed included.
    [[nodiscard]] std::vector<step_time> report() const { return times_; }
    [[nodiscard]] u64 total_ns() const noexcept;

   private:
    struct named_step {
        std::string name;
        std::function<result<void>()> run;
    };
    std::vector<named_step> steps_;
    recovery_phase reached_ = recovery_phase::header;
    std::vector<step_time> times_;
    bool ran_ = false;
};

}  // namespace hf
