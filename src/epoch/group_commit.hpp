// group_commit.hpp: threads wait until their epoch is durable; one of them ends it for all.
//
// Purpose. A write is acknowledged when its epoch is durable. While one epoch is in flight to the
// disk, the writes of all clients gather in the next one. The first thread that waits for it
// promises to end it when the disk is idle; all others sleep until it is announced. So one sync
// serves all clients that have arrived during the previous one (group commit).
//
// Invariants.
//  G1 A promise for epoch e covers all tickets up to e. The thread that has promised ends e, or
//     finds that it has ended, or withdraws: then all waiting threads are woken, and one of them
//     may promise again.
//  G2 An epoch is announced before the threads that wait for it are woken.
//  G3 A thread that sleeps has read the number of calls first, then the durable epoch, the promise
//     and errors. A thread that changes one of these calls afterwards. So no change is missed.
//  G4 Epochs that have ended are announced one by one and in order, or there is an error
//     and all threads are woken.
//
// Queues. Epochs share a few sleep queues by their number, so that an announcement wakes the
// threads of its epoch and hardly any others.
//
// Literature: group commit is DeWitt et al., Implementation Techniques for Main Memory Database
// Systems (SIGMOD 1984), section 5.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"

#include <array>
#include <atomic>

namespace hf {

class group_commit {
   public:
    /// Every epoch up to this one is durable.
    [[nodiscard]] u64 durable() const noexcept { return durable_.load(std::memory_order_acquire); }
    /// Called before any thread waits.
    void start(u64 durable) noexcept { durable_.store(durable, std::memory_order_relaxed); }

    /// Marks the next epoch as durable. Called by one thread at a time; call() must follow.
    void announce(u64 epoch) noexcept {
        HF_ASSERT(epoch == durable() + 1, "G4: an epoch is announced out of order");
        durable_.store(epoch, std::memory_order_release);
    }
    /// Wakes the threads that wait for an epoch that has been announced.
    void call(u64 epoch) noexcept { call(rooms_[epoch % room_count]); }
    /// Wakes all threads, to check for an error that has occurred or ended.
    void call_all() noexcept;

    /// True if the caller must end the epoch, and with it all earlier ones. False: another thread
    /// has promised that.
    [[nodiscard]] bool promise(u64 epoch) noexcept;
    /// Withdraws the promise to end the epoch.
    void withdraw(u64 epoch) noexcept;

    /// The number of calls, to be read before deciding whether to sleep (G3).
    [[nodiscard]] u32 calls(u64 epoch) const noexcept {
        return room_of(epoch).load(std::memory_order_acquire);
    }
    /// Sleeps until there was a call since then.
    void sleep(u64 epoch, u32 calls) const noexcept {
        room_of(epoch).wait(calls, std::memory_order_acquire);
    }

   private:
    static constexpr u64 room_count = 8;

    struct alignas(64) room {
        std::atomic<u32> calls{0};
    };
    [[nodiscard]] const std::atomic<u32>& room_of(u64 epoch) const noexcept {
        return rooms_[epoch % room_count].calls;
    }
    static void call(room& r) noexcept;

    alignas(64) std::atomic<u64> durable_{0};
    alignas(64) std::atomic<u64> promised_{0};
    std::array<room, room_count> rooms_;
};

}  // namespace hf
