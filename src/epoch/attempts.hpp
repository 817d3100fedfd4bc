// attempts.hpp: how long a leader waits for the threads inside, and when it tries again.
//
// Purpose. try_close() (gate.hpp) may fail. This class decides when the next attempt starts
// and its time-out (`patience`), and counts the failed attempts by the lane that was in the way.
//
//     time-out   first, then doubled by each failure up to `limit`; halved by a success that took
//                less than a quarter of it, down to `first`
//     pause      49 times as long as the failed attempt kept the gate closed
//
// Invariants.
//  A1  Failed attempts hold the threads of the program up for at most 2% of the time: each is
//      followed by 49 times its length without one, whichever thread leads the next.
//  A2  first <= patience() <= limit, and after log2(limit / first) failures in a row it is limit
//      (step 2 of the liveness proof in gate.hpp).
//  A3  An attempt that was refused because a thread is still to pass (`owed`) closed nothing. It
//      is not counted, and is repeated soon.
//
// Concurrency. Any thread; a mutex. Numbers may be read at any time.
#pragma once

#include "base/bits.hpp"
#include "epoch/gate.hpp"
#include "epoch/options.hpp"

#include <array>
#include <chrono>
#include <mutex>

namespace hf {

/// A place in the program whose threads were in the way, and how often.
struct place_in_the_way {
    u64 where = 0;  ///< lane::where; 0: the thread had set none
    u32 lane = 0;   ///< the last lane that was found there
    u64 times = 0;
};

struct gate_statistics {
    u64 attempts = 0;  ///< that closed the gate, for a while or in the end
    u64 failures = 0;
    u64 failures_in_a_row = 0;  ///< since the last success
    u64 longest_failure_ns = 0;
    u64 failed_ns = 0;       ///< the gate was closed in failed attempts, all together
    u64 patience_ns = 0;     ///< of the next attempt
    place_in_the_way last;   ///< of the last failure; times: how often in all
    place_in_the_way worst;  ///< the place that was in the way most often, of the last 16
};

class attempts {
   public:
    static constexpr u64 pause_factor = 49;
    /// After an attempt that was refused: what the threads that are to pass may take.
    static constexpr std::chrono::microseconds owed_pause{100};

    explicit attempts(const gate_patience& rule) noexcept;

    /// Whether leaders give up at all.
    [[nodiscard]] bool are_limited() const noexcept { return first_ns_ != 0; }
    [[nodiscard]] std::chrono::nanoseconds patience() const;
    /// How long to wait before the next attempt; 0 or less: it may be made now.
    [[nodiscard]] std::chrono::nanoseconds wait() const;
    /// An attempt that began at `start_ns` (base/clock.hpp) ended now, like this.
    void ended(const close_attempt& attempt, u64 start_ns);

    [[nodiscard]] gate_statistics numbers() const;

   private:
    void failed(const close_attempt& attempt, u64 stall_ns, u64 end_ns);
    void succeeded(u64 stall_ns);

    const u64 first_ns_;
    const u64 limit_ns_;
    mutable std::mutex mutex_;
    u64 not_before_ns_ = 0;
    gate_statistics numbers_;
    std::array<place_in_the_way, 16> places_{};
};

}  // namespace hf
