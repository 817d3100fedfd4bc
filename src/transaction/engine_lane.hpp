// transaction/engine_lane.hpp: what a commit engine keeps for one lane: room for its records.
//
// Purpose. A transaction's record goes to the lane's own log, or, where that finds no room, to the
// one that all lanes share by turns (lane 0's). Which of the two has to be known from the time
// at which room is made until the attempt has ended. An engine that keeps more for a lane derives
// from this class.
//
// Concurrency. One thread's, as the lane is; the numbers are read by others.
#pragma once

#include "transaction/commit_log.hpp"

#include <mutex>

namespace hf {

class context;

class engine_lane {
   public:
    engine_lane(region& r, shared_log& shared, u16 lane) : shared_(shared) { own_.attach(r, lane); }
    engine_lane(const engine_lane&) = delete;
    engine_lane& operator=(const engine_lane&) = delete;
    virtual ~engine_lane() = default;

    /// Finds a log with room for a record of `bytes` bytes: log() until end(). errc::no_space:
    /// neither has room. Ends the attempt by an exception where the epoch's end makes room, for
    /// which the next begin() then waits.
    [[nodiscard]] result<void> make_room(context& t, u64 bytes);
    [[nodiscard]] commit_log& log() noexcept { return turn_.owns_lock() ? shared_.log : own_; }
    [[nodiscard]] commit_log& own_log() noexcept { return own_; }
    /// The attempt is over: the shared log is for others again.
    void end() noexcept {
        if (turn_.owns_lock()) turn_.unlock();
    }
    /// Whether the epoch should end before the next transaction begins, to make room.
    [[nodiscard]] bool is_used_up(u64 epoch) const noexcept { return own_.is_used_up(epoch); }
    /// Records in the log of this lane; those in the shared log are not counted.
    [[nodiscard]] u64 records() const noexcept { return own_.records(); }
    [[nodiscard]] u64 record_bytes() const noexcept { return own_.bytes(); }

   private:
    commit_log own_;
    shared_log& shared_;
    std::unique_lock<std::mutex> turn_;  ///< of the shared log
};

}  // namespace hf
