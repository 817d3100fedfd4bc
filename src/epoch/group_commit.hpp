// group_commit.hpp: those who wait until their epoch is durable, and the one who ends it for all.
//
// Purpose. A write is answered when its epoch is durable. While one epoch is on its way to the
// disk, the writes of all clients gather in the next one: the first that wants it durable promises
// to end it, once the disk is free; all others sleep until it is announced. So one sync serves as
// many clients as have come during the last one (group commit).
//
// Invariants.
//  G1 A promise for epoch e covers all tickets up to e. Who has promised ends e, or finds at any
//     time that it has ended, or withdraws: then all who wait are called, and one of them may
//     promise anew.
//  G2 An epoch is announced before those are called who wait for it.
//  G3 Who sleeps has looked at the number of calls first, then at what is durable, at the promise
//     and at errors. Who changes one of these calls afterwards. So no change goes unseen.
//  G4 An epoch that has ended is announced, each by itself and in their order, or there is an error
//     and all are called.
//
// Rooms. Epochs share a few rooms by their number, so that an announcement wakes those whose epoch
// it is and hardly anybody else.
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
    /// Before anybody waits.
    void start(u64 durable) noexcept { durable_.store(durable, std::memory_order_relaxed); }

    /// The next epoch is durable, too. By one thread at a time; call() must follow.
    void announce(u64 epoch) noexcept {
        HF_ASSERT(epoch == durable() + 1, "G4: an epoch is announced out of order");
        durable_.store(epoch, std::memory_order_release);
    }
    /// Wakes those who wait for an epoch that has been announced.
    void call(u64 epoch) noexcept { call(rooms_[epoch % room_count]); }
    /// Everybody is to look again: there is an error, or no longer one.
    void call_all() noexcept;

    /// Whether the caller is the one who ends the epoch, and with it all before it. False: somebody
    /// else has promised as much.
    [[nodiscard]] bool promise(u64 epoch) noexcept;
    /// The promise to end the epoch cannot be kept.
    void withdraw(u64 epoch) noexcept;

    /// The number of calls to take before one looks whether to sleep (G3).
    [[nodiscard]] u32 calls(u64 epoch) const noexcept {
        return room_of(epoch).load(std::memory_order_acquire);
    }
    /// Until there was a call since then.
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
