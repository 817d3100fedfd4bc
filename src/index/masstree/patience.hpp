// masstree/patience.hpp: when beginning anew is no longer a race.
#pragma once

#include "base/clock.hpp"
#include "base/damage.hpp"
#include "sync/spin_lock.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace hf::masstree_detail {

/// Counts how often an operation has begun anew because of what another was changing. That other
/// may have lost its processor in the middle of it, so it is given time; when that is over, what
/// sends the operation back is damage. A tree that has been found damaged so once is not waited for
/// again: `known` is the tree's.
class patience {
   public:
    explicit patience(std::atomic<bool>& known) noexcept : known_(known) {}

    /// `offset`: of what sent it back. Throws damage.
    [[gnu::noinline]] void again(u64 offset) {
        const bool known = known_.load(std::memory_order_relaxed);
        if (++tries_ < (known ? spins_if_known : spins)) {
            pause_.wait();
            return;
        }
        const u64 now = now_ns();
        if (since_ == 0) since_ = now;
        if (known || now - since_ > longest_ns) {
            known_.store(true, std::memory_order_relaxed);
            throw damage(offset, "nodes lead round in a circle, or to nowhere");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    /// The operation has got further.
    void reset() noexcept {
        tries_ = 0;
        since_ = 0;
    }

   private:
    static constexpr unsigned spins = 4096;
    static constexpr unsigned spins_if_known = 64;
    static constexpr u64 longest_ns = 2'000'000'000;
    std::atomic<bool>& known_;  ///< orders nothing
    unsigned tries_ = 0;
    u64 since_ = 0;  ///< when the spins were over
    backoff pause_;
};

}  // namespace hf::masstree_detail
