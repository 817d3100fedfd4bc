// eager/node_lock.hpp: a lock word in a node on the medium. It distinguishes a stale lock (its
// holder's process died) from a held one, and tells readers whether the data they read is durable.
//
//   63            32 31      8 7     1    0
//  |  generation   | version | flags | locked |
//
// Purpose. Writers of one node exclude each other. The word contains the generation (session number
// of the region) in which the lock was taken. A lock of an earlier generation is stale: its process
// has died. lock() reclaims it and returns true; the new holder then repairs the change that the
// dead process may have left half done, while it holds the lock. Readers never wait. After its last
// load of the node a reader loads the lock word (operation::note_dependency()). If the lock is
// free, everything that the reader loaded is durable, because writers unlock after their last
// fence. If it is locked, in whatever generation, the reader flushes the lines that it read and
// fences before it returns: a killed process may have left its last stores in the caches only.
//
// On the medium. 8 bytes, in the line of the first visible store of every change that consists of
// several stores. By PCSO (stores to one cache line persist in order), a half-done change on the
// medium always shows a locked word.
//
// Invariants.
//  L1  At most one thread holds the lock of the running generation.
//  L2  unlock() is called after the fence that made the holder's last visible store durable.
//  L3  Flags and version change only under the lock. The structure defines their meaning.
//
// Bad input. A damaged word may be locked in the running generation without a holder. lock() throws
// damage after a time that is longer than any holder takes (`sync/patience.hpp`).
//
// Memory order. The holder's CAS precedes its stores; a reader loads the word after its loads of
// the node. A reader that has loaded (acquire) a holder's store (release) therefore sees that lock,
// or a later word.
//
// Crash. No word is reset: an unlocked word is valid in every generation, and a locked one has a
// generation that no running process has.
//
// Literature. Lee et al., "RECIPE", SOSP 2019 (condition 3: a lock that can be taken although its
// node is half changed); Wei et al., "FliT", PPoPP 2022 (readers check a counter).
#pragma once

#include <holdfast/pointer.hpp>

#include "base/bits.hpp"
#include "base/damage.hpp"
#include "persist/trace.hpp"
#include "region/layout.hpp"
#include "sync/patience.hpp"

#include <atomic>

namespace hf {

class node_lock {
   public:
    static constexpr u64 locked = 1;
    static constexpr u64 flags = 0xfe;
    static constexpr u64 one_version = u64{1} << 8;
    static constexpr u64 version_field = 0xffffff00;
    static constexpr unsigned generation_shift = 32;

    /// The initial word of a node that is not published yet. `held`: locked by the caller.
    [[nodiscard]] static constexpr u64 fresh(u64 flag_bits, bool held, u32 generation) noexcept {
        return u64{generation} << generation_shift | flag_bits | (held ? locked : 0);
    }
    /// Relaxed: the caller publishes the node with a release store.
    void fill(u64 word) noexcept { word_.store(word, std::memory_order_relaxed); }

    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }
    [[nodiscard]] static constexpr bool is_held(u64 word, u32 generation) noexcept {
        return (word & locked) != 0 && word >> generation_shift == generation;
    }
    /// True if stores under this lock may be volatile: a thread holds it, or its holder was killed
    /// before its last fence and the machine did not restart.
    [[nodiscard]] static constexpr bool may_be_volatile(u64 word) noexcept {
        return (word & locked) != 0;
    }
    [[nodiscard]] bool is_held(u32 generation) const noexcept {
        return is_held(load(), generation);
    }
    [[nodiscard]] static constexpr u64 version_of(u64 word) noexcept {
        return word & version_field;
    }

    /// Takes the lock. Returns true if it was reclaimed from a process that died. Throws damage if
    /// the lock stays held for too long.
    HF_TRACED_APART bool lock(u32 generation) {
        const u64 self = reinterpret_cast<u64>(this) & window_mask;
        if (self < layout::page_size) throw damage(self, "a node lies in the region's header");
        u64 seen = load();
        if (!is_held(seen, generation) && take(seen, generation)) [[likely]] {
            return (seen & locked) != 0;
        }
        vigil waiting(stuck, reinterpret_cast<u64>(this), self);
        for (;;) {
            waiting.wait();
            seen = load();
            if (!is_held(seen, generation) && take(seen, generation)) return (seen & locked) != 0;
        }
    }
    enum class attempt : u8 { failed, taken, taken_over };
    [[nodiscard]] HF_TRACED_APART attempt try_lock(u32 generation) noexcept {
        u64 seen = load();
        const bool is_in_header =
            // only damaged pointers lead there
            (reinterpret_cast<u64>(this) & window_mask) < layout::page_size;
        if (is_in_header || is_held(seen, generation) || !take(seen, generation)) {
            return attempt::failed;
        }
        return (seen & locked) != 0 ? attempt::taken_over : attempt::taken;
    }

    // --- for the holder only ---
    HF_TRACED_APART void set_flags(u64 which, bool on) noexcept {
        const u64 v = word_.load(std::memory_order_relaxed);
        word_.store(on ? v | which : v & ~which, std::memory_order_release);
    }
    /// Readers that compare versions restart.
    HF_TRACED_APART void count_version() noexcept {
        const u64 v = word_.load(std::memory_order_relaxed);
        word_.store((v & ~version_field) | ((v + one_version) & version_field),
                    std::memory_order_release);
    }
    /// For a structure that stores a number of its own in the version field.
    HF_TRACED_APART void set_version(u64 version) noexcept {
        const u64 v = word_.load(std::memory_order_relaxed);
        word_.store((v & ~version_field) | (version & version_field), std::memory_order_release);
    }
    HF_TRACED_APART void unlock() noexcept {
        word_.store(word_.load(std::memory_order_relaxed) & ~locked, std::memory_order_release);
    }

   private:
    [[nodiscard]] bool take(u64& seen, u32 generation) noexcept {
        constexpr u64 lower = (u64{1} << generation_shift) - 1;
        const u64 mine = (seen & lower) | locked | u64{generation} << generation_shift;
        return word_.compare_exchange_strong(seen, mine, std::memory_order_acquire);
    }

    /// Address of a lock whose wait timed out in this process; later waiters fail at once.
    static inline std::atomic<u64> stuck{0};

    std::atomic<u64> word_;
};
static_assert(sizeof(node_lock) == 8);

/// Calls f() and unlocks `l` if it throws damage. This is not a destructor because a simulated
/// crash of the crash lab also unwinds, and a crash must leave the lock held.
template <class F>
decltype(auto) or_give_back(node_lock& l, F&& f) {
    try {
        return f();
    } catch (const damage&) {
        l.unlock();
        throw;
    }
}

}  // namespace hf
