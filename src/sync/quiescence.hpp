// quiescence.hpp: finding out that nobody is inside, at no cost to those who go in and out.
//
// Purpose. Threads go inside and leave all the time. Now and then one of them wants all the others
// outside: to end an epoch, to reuse what was unlinked. Each thread has a flag of its own. Who goes
// in raises it and then looks whether the way is closed; who empties the place closes the way
// first and then waits for every flag.
//
//     who goes in                              who empties
//
//     flag.enter();                 (1)        closed.store(true);           (4)
//     if (closed.load(acquire)) {   (2)        drain(...);                   (5)
//         flag.leave();                        // nobody is inside
//         wait, and begin again                closed.store(false, release); (6)
//     }
//     // inside
//     flag.leave();                 (3)
//
// Invariants.
//  Q1  From the return of drain() until the way is opened nobody is inside.
//  Q2  What was stored inside before is seen by who has drained, and what that one stores is seen
//      by those who come in afterwards.
//
// Memory order. The store in (1) must not be overtaken by the load in (2), nor that in (4) by the
// loads in (5): enter() ends with a light_fence(), drain() begins with a heavy_fence(). By their
// guarantee (asymmetric_fence.hpp) the load in (5) sees the flag up, or the load in (2) sees the
// way closed: that is Q1. (3) is a release store and (5) loads with acquire, (6) is a release store
// and (2) loads with acquire: that is Q2. A flag that is new is counted before it is raised, and
// the count is read behind the heavy fence; so the same argument says that drain() looks at the
// flag, or its owner finds the way closed.
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

/// Up while its owner is inside, or tries to be. In a line of its own: others poll it.
class alignas(64) presence_flag {
   public:
    /// (1): the caller now looks whether the way is closed.
    void enter() noexcept {
        up_.store(1, std::memory_order_relaxed);
        light_fence();
    }
    /// (3).
    void leave() noexcept { up_.store(0, std::memory_order_release); }
    [[nodiscard]] bool is_up() const noexcept { return up_.load(std::memory_order_acquire) != 0; }
    /// For its owner, and for assertions: it orders nothing, or the crash lab would take it for the
    /// barrier that a release build does not have.
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

/// (5), after the way was closed. `count()` tells how many flags there are, `flag(i)` is one of
/// them.
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
