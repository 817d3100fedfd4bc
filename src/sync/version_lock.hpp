// sync/version_lock.hpp: one word with a lock for writers and versions for readers that never
// write.
//
//   63        44 43      26 25       8  7   3       2          1          0
//   | generation |  nsplit  |  ninsert  | flags | splitting | inserting | locked |
//
// Usage. The word is stored beside the fields that it guards, in a node of a tree, a bucket, a
// page. All of these fields are atomics. Readers load them with acquire order, writers store them
// with release order; on x86-64 neither costs anything.
//
//     reader                                      writer
//       for (;;) {                                  w.lock(generation);
//         const u64 seen = w.stable(generation);    w.mark_inserting();  // or mark_splitting()
//         ... acquire loads ...                     ... release stores ...
//         if (!w.changed(seen)) break;              w.unlock();
//       }
//       ... only now follow what was read ...
//
// Read protocol. stable() returns the word when no change is in progress. The values read after it
// belong to one state of the node if changed() returns false; otherwise they may be a mixture and
// are discarded before any of them is followed. split_since() tells the kind of change. False:
// entries were inserted or changed; read this node again. True: entries have moved to another node,
// or a flag has changed, so the key may be elsewhere.
//
// Write protocol. lock(), then a mark before the first store, then the stores, then unlock(), which
// increments the mark's counter and clears the mark. mark_inserting(): entries are inserted, or
// slots reused. mark_splitting(): entries move away. If both are set, splitting counts. A change of
// a single store, with a valid node before and after it, needs no mark. Flags belong to the user:
// five bits that change under the lock and live as long as the word.
//
// After a crash. A word in a region is volatile in meaning, but its line may have reached the
// medium at any moment, with lock and marks set (Cohen et al., ASPLOS 2019, section 4.3). So each
// session has a new generation, and lock() writes it into the word. A lock or mark of another
// generation is stale: lock() reclaims it and reports that, stable() clears it. A structure
// that repairs changes left incomplete by a crash does so when lock() reports it; one whose
// logs have undone them already can ignore it. Words without lock and marks are not changed, so a
// run that only reads writes nothing. Words in ordinary memory always use generation 0.
//
// Invariants.
//  W1  The word of a node that no thread changes has no marks, and none is set without the lock.
//  W2  changed() distinguishes the word after each marked change from all earlier ones, until the
//      counter wraps around: 2^18 changes of one node within one read of it.
//  W3  At most one thread holds the lock of the current generation.
// The generation wraps around after 2^20 sessions.
//
//
// Memory model. The numbers are those at the code. (3), (4) and (5) are the writer's: its CAS that
// locks, its marks, its unlock. (1) and (2) are the reader's: the word before and after its loads.
//  - (1) reads (5): the reader sees all changes that were finished before.
//  - A field's acquire load that reads a release store of a change synchronises with it, so (4),
//    which precedes that store in its thread, happens before (2) in the reader: (2) reads the
//    mark or a later value, and changed() returns true. Acquire keeps the fields' loads before (2).
//  - (3) reads (5): a writer sees all stores of the previous one.
//
// Literature. Mao, Kohler, Morris, EuroSys 2012, section 4.6 (marks and two counters); Lameter,
// "Effective synchronization on Linux/NUMA systems", 2005 (sequence locks); Boehm, "Can seqlocks
// get along with programming language memory models?", MSPC 2012 (why the fields are atomics).
#pragma once

#include "base/bits.hpp"
#include "sync/spin_lock.hpp"

#include <atomic>

namespace hf {

class version_lock {
   public:
    static constexpr u64 locked = 1;
    static constexpr u64 inserting = 2;
    static constexpr u64 splitting = 4;
    static constexpr u64 marks = inserting | splitting;
    static constexpr u64 flags = 0xf8;
    static constexpr unsigned insert_shift = 8;
    static constexpr unsigned split_shift = 26;
    static constexpr unsigned generation_shift = 44;
    static constexpr u64 insert_field = ((u64{1} << 18) - 1) << insert_shift;
    static constexpr u64 split_field = ((u64{1} << 18) - 1) << split_shift;
    static constexpr u64 generation_field = ~((u64{1} << generation_shift) - 1);

    /// Converts a generation to the form used by the calls below.
    [[nodiscard]] static constexpr u64 generation_bits(u64 generation) noexcept {
        return generation << generation_shift;
    }

    /// Initialises an unlocked word. No other thread may have access to it yet.
    void init(u64 flag_bits, u64 generation) noexcept {
        // Published together with the node.
        word_.store(generation | flag_bits, std::memory_order_release);
    }

    // --- readers ---
    /// (2) Synchronises with (4) and (5) through the fields loaded before.
    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }

    /// Waits until no change is in progress and returns the word.
    [[nodiscard]] u64 stable(u64 generation) noexcept {
        return stable(generation, [] { return backoff(); });
    }
    /// As stable() above, but waits by calling wait() of the object that `waiter` returns, which
    /// may throw.
    template <class Waiter>
    [[nodiscard, gnu::always_inline]] u64 stable(u64 generation, Waiter waiter) {
        const u64 v = word_.load(std::memory_order_acquire);  // (1) synchronises with (5)
        if ((v & marks) == 0) [[likely]] {
            return v;
        }
        return wait_stable(generation, waiter);
    }

    /// True if the values read since `seen` may be a mixture.
    [[nodiscard]] bool changed(u64 seen) const noexcept {
        return ((load() ^ seen) & ~(locked | generation_field)) != 0;
    }
    /// True if entries have moved away, or a flag has changed.
    [[nodiscard]] static constexpr bool split_since(u64 seen, u64 now) noexcept {
        return ((seen ^ now) & (split_field | flags)) != 0;
    }
    [[nodiscard]] static constexpr bool is_held(u64 word, u64 generation) noexcept {
        return (word & locked) != 0 && (word & generation_field) == generation;
    }
    /// True if a lock or mark has a later generation than the given one, which indicates
    /// corruption.
    [[nodiscard]] static constexpr bool is_of_future(u64 word, u64 generation) noexcept {
        constexpr u64 half = u64{1} << 63;
        return (word & (locked | marks)) != 0 &&
               ((generation - (word & generation_field)) & generation_field) >= half;
    }
    /// For the owner's assertions; relaxed, synchronises nothing (presence_flag::is_up_here()).
    [[nodiscard]] bool is_held(u64 generation) const noexcept {
        return is_held(word_.load(std::memory_order_relaxed), generation);
    }

    // --- writers ---
    [[nodiscard]] bool try_lock(u64 generation) noexcept {
        u64 v = load();
        return !is_held(v, generation) && take(v, generation);
    }

    /// Returns true if the lock was stale, of an earlier generation, and has been reclaimed.
    bool lock(u64 generation) noexcept {
        return lock(generation, [] { return backoff(); });
    }
    /// As stable() with a waiter.
    template <class Waiter>
    [[gnu::always_inline]] bool lock(u64 generation, Waiter waiter) {
        u64 v = load();
        if ((v & locked) == 0 && take(v, generation)) [[likely]] {
            return false;
        }
        return wait_lock(generation, waiter);
    }

    // --- for the lock's owner only ---
    void mark_inserting() noexcept { set(inserting); }
    void mark_splitting() noexcept { set(splitting); }
    /// Sets flags, with the mark that makes readers search elsewhere.
    void mark_splitting_with(u64 flag_bits) noexcept { set(splitting | flag_bits); }
    void set_flags(u64 which, bool on) noexcept {
        const u64 v = word_.load(std::memory_order_relaxed);
        // (4) Read by (2), like a mark.
        word_.store(on ? v | which : v & ~which, std::memory_order_release);
    }
    void unlock() noexcept {
        u64 v = word_.load(std::memory_order_relaxed);
        if ((v & splitting) != 0) {
            v = (v & ~split_field) | ((v + (u64{1} << split_shift)) & split_field);
        } else if ((v & inserting) != 0) {
            v = (v & ~insert_field) | ((v + (u64{1} << insert_shift)) & insert_field);
        }
        word_.store(v & ~(locked | marks), std::memory_order_release);  // (5) read by (1) and (3)
    }

   private:
    void set(u64 bits) noexcept {
        // (4) Read by (2) of a reader that has read a field stored after it.
        word_.store(word_.load(std::memory_order_relaxed) | bits, std::memory_order_release);
    }
    bool take(u64& v, u64 generation) noexcept {
        const u64 mine = (v & ~(marks | generation_field)) | locked | generation;
        // (3) Synchronises with (5) of the last owner; the stores of a dead one are in memory
        // anyway.
        return word_.compare_exchange_strong(v, mine, std::memory_order_acquire);
    }
    template <class Waiter>
    [[gnu::noinline]] bool wait_lock(u64 generation, Waiter waiter) {
        auto pause = waiter();
        for (;;) {
            u64 v = load();
            const bool dead = (v & locked) != 0;  // valid if is_held() is false: a stale lock
            if (!is_held(v, generation) && take(v, generation)) return dead;
            pause.wait();
        }
    }

    template <class Waiter>
    [[gnu::noinline]] u64 wait_stable(u64 generation, Waiter waiter) {
        auto pause = waiter();
        for (;;) {
            u64 v = word_.load(std::memory_order_acquire);  // (1)
            if ((v & marks) == 0) return v;
            if ((v & generation_field) != generation) {
                const u64 clean = (v & ~(marks | locked | generation_field)) | generation;
                // Races with the CAS at (3) in other threads that reclaim the stale lock; exactly
                // one succeeds.
                if (word_.compare_exchange_strong(v, clean, std::memory_order_acq_rel)) {
                    return clean;
                }
                continue;
            }
            pause.wait();
        }
    }

    std::atomic<u64> word_;
};

}  // namespace hf
