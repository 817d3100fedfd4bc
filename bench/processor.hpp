// bench/processor.hpp: cores to run on, and the cycle counter as a clock.
#pragma once

#include "base/bits.hpp"

#include <vector>

namespace hf::bench {

/// The cores that this process may use.
[[nodiscard]] std::vector<int> usable_cores();
/// Keeps the calling thread on one core. False: the kernel refused.
bool pin_to_core(int core) noexcept;

/// The time-stamp counter: some 10 ns a reading, less than the clock of the kernel. Not ordered
/// against other instructions, which shifts a sample by a few nanoseconds at most.
[[nodiscard]] inline u64 ticks() noexcept { return __builtin_ia32_rdtsc(); }
/// Nanoseconds a tick; measured once, against CLOCK_MONOTONIC.
[[nodiscard]] double ns_per_tick();

/// Processor time of the calling thread.
[[nodiscard]] u64 thread_cpu_ns() noexcept;
/// How often the calling thread lost its core to another one.
[[nodiscard]] u64 thread_preemptions() noexcept;

/// Set by SIGINT and SIGTERM while an `interruptible` lives.
[[nodiscard]] bool interrupted() noexcept;

/// Lets SIGINT and SIGTERM end the measurement in order; a second one ends the process at once.
class interruptible {
   public:
    interruptible() noexcept;
    ~interruptible();
    interruptible(const interruptible&) = delete;
    interruptible& operator=(const interruptible&) = delete;
};

}  // namespace hf::bench
