// spin_lock.hpp: a small volatile lock for short critical sections, and the back-off between two
// attempts.
//
// The lock belongs in ordinary memory, never in a region (after a crash its word is meaningless).
// After a bounded number of attempts a waiter yields its processor, so that a descheduled owner can
// run.
#pragma once

#include <sched.h>

#include <atomic>

namespace hf {

inline void cpu_relax() noexcept { __builtin_ia32_pause(); }

/// Waits, longer with each call: first with pause instructions, then by yielding the processor.
class backoff {
   public:
    void wait() noexcept {
        if (tries_ < spins_before_yield) {
            ++tries_;
            cpu_relax();
        } else {
            ::sched_yield();
        }
    }

   private:
    static constexpr unsigned spins_before_yield = 64;
    unsigned tries_ = 0;
};

/// Meets the standard's Lockable requirements.
class spin_lock {
   public:
    void lock() noexcept {
        backoff pause;
        while (!try_lock()) pause.wait();
    }
    [[nodiscard]] bool try_lock() noexcept {
        return !held_.load(std::memory_order_relaxed) &&
               !held_.exchange(true, std::memory_order_acquire);
    }
    [[nodiscard]] bool is_held() const noexcept { return held_.load(std::memory_order_acquire); }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> held_{false};
};

}  // namespace hf
