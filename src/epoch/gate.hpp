// gate.hpp: stops the threads that change a region, so that an epoch can end.
//
// Purpose. Each operation, transaction or outermost section on a region enters the gate first and
// leaves it at its end. To end an epoch a leader closes the gate and waits until the threads inside
// have left. Then no line of the region changes, and no reader holds a pointer into it.
//
//            ask()            close()               open()
//     open ---------> due ----------------> closed ---------> open
//       '-----------------------------------^
//              close(), try_close()
//
// Two ways to close it. close() waits for the threads inside as long as they take: right for
// operations, which are short and wait for no other thread. try_close(`patience`) is for sections
// of programs: a section may wait for a thread that waits at the closed gate. So the leader waits
// at most `patience`, then opens the gate again, and learns which lane was in the way. A gate is
// used in one of the two ways; under try_close() nothing asks, so the gate is never due.
//
// Invariants.
//  B1  A thread is inside (its lane's flag is up) from before it finds the gate open until it
//      leaves. Flag and state word follow quiescence.hpp: from the return of close(), or of a
//      try_close() that closed it, until open() no thread is inside, and both sides see each
//      other's stores.
//  B2  The thread that changes the state word from open or due to closed is the leader, and only
//      the leader opens the gate again. Usually it is a worker that finds an epoch due as it
//      enters, so the pause contains no thread switch. The clock's thread leads when no worker
//      enters.
//  B3  A thread that arrives at the closed gate helps the leader, then waits.
//  B4  Threads register by operation, not by existence: idle and ended threads cost one load.
//  B5  Sections nest. Only the outermost passes the gate and leaves it: lane::depth counts.
//  B6  A thread that waited at the gate while an attempt failed passes before the next attempt. A
//      waiting thread keeps lane::waits up until it is inside. try_close() refuses (`owed`) while
//      it finds such a lane. The flag's store, the waiting thread's load of the state, the store
//      that opens the gate again and the load of the flag by the next attempt are sequentially
//      consistent: a thread that found attempt n's gate closed with its flag up is seen by n + 1.
//
// Liveness of try_close(). Let P be the largest time-out (attempts.hpp), and suppose
//  (a) once no thread enters any more, all sections in flight end within P, and
//  (b) each thread that can run does run within some finite time.
// Then some attempt closes the gate.
//  1. While the gate is open a waiting thread that runs passes, for it finds the state open; and no
//     thread begins to wait. So by (b) all `waits` flags are down after a finite time, and the next
//     attempt is not refused.
//  2. Attempts that fail double the time-out until it is P. The pause between two attempts is a
//     fixed multiple of the time that the gate was closed, which is at most P and the leader's own
//     delay. So after finitely many attempts, each a finite time after the one before, there is one
//     with time-out P.
//  3. In that attempt no thread enters from the closing on (a thread that raised its flag too late
//     finds the gate closed, and lowers it). By (a) all flags are down within P: it succeeds.
// Without (a), for example where a section waits for input, attempts fail until it ends. A failed
// attempt holds the other threads up for its time-out only; then all of them pass (B6).
//
// A group of regions. A section may change several regions, so they need one cut. Planned, not
// built: the group closes the members' gates in a fixed order, with one deadline for all, and opens
// those that it has closed when one fails; a thread enters all members' gates in the same order,
// and leaves those that it has passed before it waits at one. All lanes of a thread then are inside
// or outside together. One record decides for all members that the epoch is durable.
//
// Cost. Entering is a store, a compiler barrier and a load (asymmetric_fence.hpp).
#pragma once

#include "base/check.hpp"
#include "epoch/lane.hpp"

#include <atomic>
#include <chrono>

namespace hf {

/// How an attempt to close the gate ended.
struct close_attempt {
    enum class outcome : u32 {
        closed,      ///< the caller leads, and no thread is inside
        taken,       ///< another thread leads
        in_the_way,  ///< a thread inside did not leave in time; the gate is open again
        owed,        ///< the gate stayed open: a thread that waited has not passed yet (B6)
    };
    outcome how = outcome::closed;
    u32 lane = 0;   ///< of a thread that was in the way, or is to pass first
    u64 where = 0;  ///< that lane's word
};

class gate {
   public:
    explicit gate(const lanes& all) noexcept : lanes_(all) {}

    /// False: it is not open, and the lane's owner is outside.
    [[nodiscard]] bool try_enter(lane& l) noexcept {
        HF_ASSERT(!l.presence.is_up_here(),
                  "a thread enters an epoch that it is inside of already");
        l.presence.enter();
        if (state_.load(std::memory_order_acquire) == state::open) [[likely]] {
            return true;
        }
        l.presence.leave();
        return false;
    }
    static void leave(lane& l) noexcept {
        HF_ASSERT(l.depth == 0, "B5: a thread leaves the gate inside of a section");
        l.presence.leave();
    }
    /// Enters, after waiting: calls `wait()` while the gate is not open. `wait` returns when it may
    /// be open.
    template <class Wait>
    void enter_late(lane& l, Wait&& wait) noexcept {
        l.waits.store(1, std::memory_order_seq_cst);
        do {
            wait();
        } while (!try_enter(l));
        l.waits.store(0, std::memory_order_release);
    }

    /// The next thread that enters is to lead.
    void ask() noexcept {
        state expected = state::open;
        state_.compare_exchange_strong(expected, state::due);
    }
    /// True: the caller leads, and no thread is inside. False: another thread leads.
    [[nodiscard]] bool close() noexcept;
    /// Closes the gate and waits at most `patience` for the threads inside. If one of them stays,
    /// the gate is open again when this returns. The caller is outside.
    [[nodiscard]] close_attempt try_close(std::chrono::nanoseconds patience) noexcept;
    /// By the leader.
    void open() noexcept;

    [[nodiscard]] bool is_due() const noexcept {
        return state_.load(std::memory_order_acquire) == state::due;
    }
    [[nodiscard]] bool is_closed() const noexcept {
        return state_.load(std::memory_order_seq_cst) == state::closed;
    }
    /// Calls `help` again and again meanwhile, before it falls asleep.
    template <class Help>
    void wait_while_closed(Help&& help) const {
        const unsigned spins = patience();
        for (unsigned tries = 0; is_closed(); ++tries) {
            help();
            if (tries < spins) {
                cpu_relax();
            } else {
                state_.wait(state::closed, std::memory_order_acquire);
            }
        }
    }

   private:
    enum class state : u32 { open, due, closed };

    [[nodiscard]] bool take() noexcept;
    [[nodiscard]] close_attempt about(close_attempt::outcome how, u32 index) const noexcept;
    [[nodiscard]] unsigned patience() const noexcept;

    const lanes& lanes_;
    alignas(64) std::atomic<state> state_{state::open};
};

}  // namespace hf
