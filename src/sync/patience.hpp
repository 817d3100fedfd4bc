// sync/patience.hpp: bounds on retries and lock waits, after which an index is reported as corrupt.
#pragma once

#include "base/clock.hpp"
#include "base/damage.hpp"
#include "base/held_up.hpp"
#include "sync/spin_lock.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace hf {

/// Measures how long a thread has waited, if it calls look() from time to time. An interval between
/// two calls counts up to a limit, so the time of a stopped process or a sleeping machine does not
/// count.
class time_waited {
   public:
    /// The waiting time so far, in nanoseconds; starts with the first call.
    [[nodiscard]] u64 look() noexcept {
        constexpr u64 most_between_ns = 100'000'000;
        const u64 now = now_ns();
        if (last_ != 0) sum_ += std::min(now - last_, most_between_ns);
        last_ = now;
        return sum_;
    }

   private:
    u64 last_ = 0;
    u64 sum_ = 0;
};

/// The time-outs after which a wait is reported as corruption. A test that knows that no other
/// thread is running may set smaller ones. Relaxed; they synchronise nothing.
struct longest_waits {
    static inline std::atomic<u64> again_ns{2'000'000'000};  ///< for others' changes to end
    static inline std::atomic<u64> lock_ns{5'000'000'000};   ///< for a lock
};

/// A short sleep, used after some hundred pauses. Most of these yield the processor: on a busy
/// machine they alone may take a second.
inline void sleep_a_little() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

/// Counts how often an operation has restarted because of another thread's unfinished change. That
/// thread may have lost its processor, so it is given time. After the time-out the state that
/// forces the restart is reported as damage. Once a tree was found damaged in this way, later
/// operations use a shorter time-out: `known` is a flag of the tree.
class patience {
   public:
    explicit patience(std::atomic<bool>& known) noexcept : known_(known) {}

    /// Counts a restart; `offset` is that of the node that forced it. Throws damage.
    [[gnu::noinline]] void again(u64 offset) {
        const bool known = known_.load(std::memory_order_relaxed);
        if (++tries_ < (known ? spins_if_known : spins)) {
            pause_.wait();
            return;
        }
        if (known || waited_.look() > longest_waits::again_ns.load(std::memory_order_relaxed)) {
            known_.store(true, std::memory_order_relaxed);
            throw damage(offset, "nodes lead round in a circle, or to nowhere");
        }
        sleep_a_little();
    }
    /// The operation has made progress.
    void reset() noexcept {
        tries_ = 0;
        waited_ = {};
    }

   private:
    static constexpr unsigned spins = 256;
    static constexpr unsigned spins_if_known = 64;
    std::atomic<bool>& known_;  ///< relaxed; synchronises nothing
    unsigned tries_ = 0;
    time_waited waited_;  ///< since the spinning ended
    backoff pause_;
};

/// Waits for the owner of a node's lock. Locks are held briefly. But a corrupt lock word may claim
/// that the lock is held in this session, although no thread holds it. The tree's word `stuck`
/// names such a node: other threads wait for it for some time slices only, until one wait succeeds,
/// which shows that an owner was merely slow.
class vigil {
   public:
    vigil(std::atomic<u64>& stuck, u64 node) noexcept : vigil(stuck, node, node) {}
    /// For a word `stuck` shared by several trees: `node` identifies the node among all of them.
    vigil(std::atomic<u64>& stuck, u64 node, u64 offset) noexcept
        : stuck_(stuck), node_(node), offset_(offset) {}
    vigil(const vigil&) = delete;
    vigil& operator=(const vigil&) = delete;
    ~vigil() {
        if (!in_vain_ && is_known()) stuck_.store(0, std::memory_order_relaxed);
    }

    /// Waits a little longer with each call. Throws damage after the time-out.
    void wait() {
        if (++tries_ < spins) {
            pause_.wait();
            return;
        }
        if (held_up::is_anybody()) {
            waited_ = {};  // the lock's owner may be the thread that waits for the disk
        } else if (waited_.look() > most_ns()) {
            in_vain_ = true;
            stuck_.store(node_, std::memory_order_relaxed);
            throw damage(offset_, "a node is locked, and its lock is never released");
        }
        sleep_a_little();
    }

   private:
    [[nodiscard]] bool is_known() const noexcept {
        return stuck_.load(std::memory_order_relaxed) == node_;
    }
    [[nodiscard]] u64 most_ns() const noexcept {
        return is_known() ? longest_if_known_ns
                          : longest_waits::lock_ns.load(std::memory_order_relaxed);
    }

    static constexpr unsigned spins = 256;
    static constexpr u64 longest_if_known_ns = 10'000'000;
    std::atomic<u64>& stuck_;  ///< relaxed; synchronises nothing
    u64 node_;
    u64 offset_;
    bool in_vain_ = false;
    unsigned tries_ = 0;
    time_waited waited_;
    backoff pause_;
};

}  // namespace hf
