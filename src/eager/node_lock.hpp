// eager/node_lock.hpp: a lock in a node on the medium, which tells a dead holder from a slow one,
// and tells readers whether what they have read is sure.
//
//   63            32 31      8 7     1    0
//   |  generation   | version | flags | locked |
//
// Purpose. Writers of one node exclude each other. The word names the opening of the region in
// which it was taken: a lock of an earlier generation has a dead holder, and is nobody's. lock()
// takes it over and says so; its new holder repairs what a dead one may have left half done, under
// this very lock. Readers never wait: behind their last load of the node they look at the word
// (operation::saw()); free, all that they have read is durable, because writers unlock behind their
// last fence; locked, whatever the generation, they flush what they have read, and fence before
// they return: a holder that was killed may have left his last store in the caches.
//
// On the medium. 8 bytes, in the line of the first visible store of whatever change is made of
// several: by PCSO, a change that was left half done always shows a lock.
//
// Invariants.
//  L1  At most one thread holds the lock of the running generation.
//  L2  unlock() comes behind the fence that made the holder's last visible store durable.
//  L3  Flags and version change under the lock alone. What they mean is the structure's.
//
// Bad input. A damaged word may say that it is held, in this opening, and by nobody: lock() waits
// for as long as no holder takes, and throws damage (sync/patience.hpp).
//
// Memory order. The holder's CAS comes before its stores, a reader's look behind its loads. A
// reader that has loaded (acquire) what a holder stored (release) therefore sees that lock, or what
// came behind it.
//
// After a crash nothing is reset: an unlocked word is unlocked whoever wrote it, a locked one is of
// a generation that no running process has.
//
// Literature. Lee et al., "RECIPE", SOSP 2019 (condition 3: a lock that can be taken although its
// node is half changed); Wei et al., "FliT", PPoPP 2022 (readers look at a counter).
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

    /// The word of a new node, which nobody knows yet; `held`: locked by the caller.
    [[nodiscard]] static constexpr u64 fresh(u64 flag_bits, bool held, u32 generation) noexcept {
        return u64{generation} << generation_shift | flag_bits | (held ? locked : 0);
    }
    /// Whoever makes the node known has the release store.
    void fill(u64 word) noexcept { word_.store(word, std::memory_order_relaxed); }

    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }
    [[nodiscard]] static constexpr bool is_held(u64 word, u32 generation) noexcept {
        return (word & locked) != 0 && word >> generation_shift == generation;
    }
    /// Whether what it guards may not be durable: it is held, or its holder was killed when the
    /// last fence was still to come, and the machine went on.
    [[nodiscard]] static constexpr bool is_unsure(u64 word) noexcept {
        return (word & locked) != 0;
    }
    [[nodiscard]] bool is_held(u32 generation) const noexcept {
        return is_held(load(), generation);
    }
    [[nodiscard]] static constexpr u64 version_of(u64 word) noexcept {
        return word & version_field;
    }

    /// True: taken over from a holder that died with an earlier generation. Throws damage.
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
            (reinterpret_cast<u64>(this) & window_mask) < layout::page_size;  // damage
        if (is_in_header || is_held(seen, generation) || !take(seen, generation)) {
            return attempt::failed;
        }
        return (seen & locked) != 0 ? attempt::taken_over : attempt::taken;
    }

    // --- the holder only ---
    HF_TRACED_APART void set_flags(u64 which, bool on) noexcept {
        const u64 v = word_.load(std::memory_order_relaxed);
        word_.store(on ? v | which : v & ~which, std::memory_order_release);
    }
    /// Readers who compare versions read again.
    HF_TRACED_APART void count_version() noexcept {
        const u64 v = word_.load(std::memory_order_relaxed);
        word_.store((v & ~version_field) | ((v + one_version) & version_field),
                    std::memory_order_release);
    }
    /// For a structure whose version is something else.
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

    /// Of the process, and an address in it: the lock that nobody has given back in time.
    static inline std::atomic<u64> stuck{0};

    std::atomic<u64> word_;
};
static_assert(sizeof(node_lock) == 8);

/// f(), which may meet damage while the lock is held: it is given back then. Not by a destructor: a
/// crash that the lab plays leaves by an exception, too, and a dead process gives nothing back.
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
