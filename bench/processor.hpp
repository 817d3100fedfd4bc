// bench/processor.hpp: selection of cores, and the cycle counter as a clock.
#pragma once

#include "base/bits.hpp"

#include <vector>

namespace hf::bench {

/// The cores that this process may use.
[[nodiscard]] std::vector<int> usable_cores();
/// Pins the calling thread to a core. False: the kernel refused.
bool pin_to_core(int core) noexcept;

/// The time-stamp counter: about 10 ns a reading, faster than the kernel's clock. It is not ordered
/// with other instructions, which shifts a sample by a few nanoseconds at most.
[[nodiscard]] inline u64 ticks() noexcept { return __builtin_ia32_rdtsc(); }
/// Nanoseconds a tick; measured once, against CLOCK_MONOTONIC.
[[nodiscard]] double ns_per_tick();

/// Processor time of the calling thread.
[[nodiscard]] u64 thread_cpu_ns() noexcept;
/// How often the calling thread was preempted.
[[nodiscard]] u64 thread_preemptions() noexcept;

/// Set by SIGINT and SIGTERM while an `interruptible` lives.
[[nodiscard]] bool interrupted() noexcept;

/// While it exists, SIGINT and SIGTERM end the measurement in order; a second signal ends the
/// process at once.
class interruptible {
   public:
    interruptible() noexcept;
    ~interruptible();
    interruptible(const interruptible&) = delete;
    interruptible& operator=(const interruptible&) = delete;
};

}  // namespace hf::bench
