// sync/patience.hpp: when beginning anew is no longer a race, and waiting no longer a wait.
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

/// How long somebody has waited who looks now and then. What passes between two looks counts only
/// as far as the waiting alone explains it: a process that was stopped, or a machine that slept,
/// has let nobody wait.
class time_waited {
   public:
    /// So far, from the first call on.
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

/// How long anybody waits before it calls what it waits for damage. Whoever knows that no thread
/// but its own is at work, as tests of damaged regions do, may wait for less; it orders nothing.
struct longest_waits {
    static inline std::atomic<u64> again_ns{2'000'000'000};  ///< for others' changes to end
    static inline std::atomic<u64> lock_ns{5'000'000'000};   ///< for a lock
};

/// Behind some hundred pauses, most of which give the processor away: on a busy machine these alone
/// may take a second.
inline void sleep_a_little() { std::this_thread::sleep_for(std::chrono::microseconds(50)); }

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
        if (known || waited_.look() > longest_waits::again_ns.load(std::memory_order_relaxed)) {
            known_.store(true, std::memory_order_relaxed);
            throw damage(offset, "nodes lead round in a circle, or to nowhere");
        }
        sleep_a_little();
    }
    /// The operation has got further.
    void reset() noexcept {
        tries_ = 0;
        waited_ = {};
    }

   private:
    static constexpr unsigned spins = 256;
    static constexpr unsigned spins_if_known = 64;
    std::atomic<bool>& known_;  ///< orders nothing
    unsigned tries_ = 0;
    time_waited waited_;  ///< since the spins were over
    backoff pause_;
};

/// Waits for the holder of a node's lock. Nobody holds one for long; but a word that is damaged may
/// say that it is held, in this opening of the region, and by nobody. For such a node, `stuck` of
/// the tree, others wait for some slices of a processor's time only, until one has not waited in
/// vain: then it was a holder that was slow.
class vigil {
   public:
    vigil(std::atomic<u64>& stuck, u64 node) noexcept : vigil(stuck, node, node) {}
    /// Where `stuck` is that of more than one tree: what tells nodes apart, and the node's offset.
    vigil(std::atomic<u64>& stuck, u64 node, u64 offset) noexcept
        : stuck_(stuck), node_(node), offset_(offset) {}
    vigil(const vigil&) = delete;
    vigil& operator=(const vigil&) = delete;
    ~vigil() {
        if (!in_vain_ && is_known()) stuck_.store(0, std::memory_order_relaxed);
    }

    /// Throws damage.
    void wait() {
        if (++tries_ < spins) {
            pause_.wait();
            return;
        }
        if (held_up::is_anybody()) {
            waited_ = {};  // it may be the holder
        } else if (waited_.look() > most_ns()) {
            in_vain_ = true;
            stuck_.store(node_, std::memory_order_relaxed);
            throw damage(offset_, "a node is locked, and nobody gives it back");
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
    std::atomic<u64>& stuck_;  ///< orders nothing
    u64 node_;
    u64 offset_;
    bool in_vain_ = false;
    unsigned tries_ = 0;
    time_waited waited_;
    backoff pause_;
};

}  // namespace hf
