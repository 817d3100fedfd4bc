// quiescence.hpp: excludes all threads from a section, at no cost for threads that enter it.
//
// Purpose. Threads enter a section and leave it all the time. From time to time one of them needs
// all others outside: to end an epoch, or to reuse unlinked memory. Each thread has its own flag. A
// thread that enters sets its flag and then checks whether the section is closed. The thread that
// drains closes the section first and then waits for every flag.
//
//     a thread that enters                     the thread that drains
//
//     flag.enter();                 (1)        closed.store(true);           (4)
//     if (closed.load(acquire)) {   (2)        drain(...);                   (5)
//         flag.leave();                        // no thread is inside
//         wait, and try again                  closed.store(false, release); (6)
//     }
//     // inside
//     flag.leave();                 (3)
//
// Invariants.
//  Q1  From the return of drain() until the section is reopened no thread is inside.
//  Q2  The draining thread sees all stores made inside before, and threads that enter later see the
//      stores of the draining thread.
//
// Memory order. The load in (2) must not be reordered before the store in (1), nor the loads in (5)
// before the store in (4): enter() ends with a light_fence(), drain() begins with a heavy_fence().
// By their guarantee (asymmetric_fence.hpp) the load in (5) sees the flag set, or the load in (2)
// sees the section closed: that is Q1. (3) is a release store and (5) loads with acquire, (6) is a
// release store and (2) loads with acquire: that is Q2. A new flag is counted before it is set, and
// the count is read after the heavy fence. So by the same argument drain() checks the flag, or its
// owner sees the section closed.
//
// Giving up. drain_until() is drain() with a deadline. After it has found a flag up past the
// deadline neither Q1 nor Q2 holds: its caller opens the way again, (6), and has learned the flag's
// index.
//
// Literature: Dice, Huang, Yang, "Asymmetric Dekker Synchronization" (2001).
#pragma once

#include "base/bits.hpp"
#include "base/clock.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/spin_lock.hpp"

#include <atomic>
#include <optional>

namespace hf {

/// Set while its owner is inside, or tries to enter. In a separate line, since others poll it.
class alignas(64) presence_flag {
   public:
    /// Step (1). The caller then checks whether the section is closed.
    void enter() noexcept {
        up_.store(1, std::memory_order_relaxed);
        light_fence();
    }
    /// Step (3).
    void leave() noexcept { up_.store(0, std::memory_order_release); }
    [[nodiscard]] bool is_up() const noexcept { return up_.load(std::memory_order_acquire) != 0; }
    /// For its owner, and for assertions. Relaxed, since the crash lab would treat an acquire load
    /// as a barrier, which a release build does not have.
    [[nodiscard]] bool is_up_here() const noexcept {
        return up_.load(std::memory_order_relaxed) != 0;
    }
    void wait_until_down() const noexcept {
        backoff pause;
        while (is_up()) pause.wait();
    }
    /// False: it was still up at `deadline_ns` (base/clock.hpp). Looks at least once.
    [[nodiscard]] bool wait_until_down(u64 deadline_ns) const noexcept {
        backoff pause;
        while (is_up()) {
            if (now_ns() >= deadline_ns) return false;
            pause.wait();
        }
        return true;
    }

   private:
    std::atomic<u32> up_{0};
};

/// Step (5), after the section was closed. `count()` is the number of flags, `flag(i)` one of them.
template <class Count, class Flag>
void drain(Count&& count, Flag&& flag) noexcept {
    heavy_fence();
    const u32 n = count();
    for (u32 i = 0; i < n; ++i) {
        const presence_flag& one = flag(i);
        one.wait_until_down();
    }
}

/// (5) with a deadline (base/clock.hpp): nullopt when all flags were found down, otherwise the
/// index of the first flag that was still up at the deadline. Each flag is looked at before giving
/// up on it, so a deadline in the past finds an empty place empty.
template <class Count, class Flag>
[[nodiscard]] std::optional<u32> drain_until(u64 deadline_ns, Count&& count, Flag&& flag) noexcept {
    heavy_fence();
    const u32 n = count();
    for (u32 i = 0; i < n; ++i) {
        const presence_flag& one = flag(i);
        if (!one.wait_until_down(deadline_ns)) return i;
    }
    return std::nullopt;
}

}  // namespace hf
