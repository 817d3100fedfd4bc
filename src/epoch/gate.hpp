// gate.hpp: the one door through which all operations of a region go.
//
// Purpose. Whatever changes a region, be it an operation, a transaction or an outermost section,
// passes the gate first and leaves at its end. When an epoch is to end the gate closes, those who
// are inside finish, and then nobody is there: all lines are at rest, and no reader holds anything.
//
//            ask()            close()               open()
//     open ---------> due ----------------> closed ---------> open
//       '-----------------------------------^
//              close()
//
// Invariants.
//  B1  A thread is inside (its lane's flag is up) from before it finds the gate open until it
//      leaves. Flag and state word follow quiescence.hpp: from the return of close() until open()
//      nobody is inside, and both sides see each other's stores.
//  B2  Whoever turns the state word from open or due to closed leads, and nobody else opens it.
//      Usually that is a worker that finds an epoch due as it enters: so no switch of threads lies
//      inside the pause. The clock's thread leads when nobody comes.
//  B3  Who arrives at the closed gate helps the leader, then waits.
//  B4  Threads register by operation, not by existence: idle and ended threads cost one load.
//
// Cost. Entering is a store, a compiler barrier and a load (asymmetric_fence.hpp).
#pragma once

#include "base/check.hpp"
#include "epoch/lane.hpp"

#include <atomic>

namespace hf {

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
    static void leave(lane& l) noexcept { l.presence.leave(); }

    /// Who comes next is to lead.
    void ask() noexcept {
        state expected = state::open;
        state_.compare_exchange_strong(expected, state::due);
    }
    /// True: the caller leads, and nobody is inside. False: somebody else leads.
    [[nodiscard]] bool close() noexcept;
    /// By the leader.
    void open() noexcept;

    [[nodiscard]] bool is_due() const noexcept {
        return state_.load(std::memory_order_acquire) == state::due;
    }
    [[nodiscard]] bool is_closed() const noexcept {
        return state_.load(std::memory_order_acquire) == state::closed;
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

    [[nodiscard]] unsigned patience() const noexcept;

    const lanes& lanes_;
    alignas(64) std::atomic<state> state_{state::open};
};

}  // namespace hf
