// recovery/driver.hpp: the one order in which a region is brought back.
//
// Rooms add their steps (superblock, log, allocator, index, ...) from the ground up, and run()
// executes them in that order. Each step must stand being cut short by a crash and run again from
// its start; a step that fails ends the recovery, and its error says in which step that was.
#pragma once

#include "base/bits.hpp"

#include <holdfast/result.hpp>

#include <functional>
#include <string>
#include <vector>

namespace hf {

struct step_time {
    std::string name;
    u64 ns = 0;
};

class recovery_driver {
   public:
    void add(std::string name, std::function<result<void>()> step);
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
    std::vector<step_time> times_;
    bool ran_ = false;
};

}  // namespace hf
