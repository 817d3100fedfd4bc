// sync/version_lock.hpp: one word with a lock for writers and versions for readers that never
// write.
//
//   63        44 43      26 25       8  7   3       2          1          0
//   | generation |  nsplit  |  ninsert  | flags | splitting | inserting | locked |
//
// Usage. The word lies beside the fields that it guards, in a node of a tree, a bucket, a page. All
// of these fields are atomics. Readers load them with acquire order, writers store them with
// release order; on x86-64 neither costs anything.
//
//     reader                                      writer
//       for (;;) {                                  w.lock(generation);
//         const u64 seen = w.stable(generation);    w.mark_inserting();  // or mark_splitting()
//         ... acquire loads ...                     ... release stores ...
//         if (!w.changed(seen)) break;              w.unlock();
//       }
//       ... only now follow what was read ...
//
// Read protocol. stable() gives the word as it is while no change is under way. What was read after
// it is one state of the node if changed() says no; else it may be a mixture and is thrown away
// before anything in it is followed. split_since() tells what has happened: false, entries have
// come or changed, read this node again; true, entries have left for another node, or a flag has
// turned, so what is looked for may be elsewhere.
//
// Write protocol. lock(), then a mark before the first store, then the stores, then unlock(), which
// counts the mark up and takes it away. mark_inserting(): entries appear, or places are reused.
// mark_splitting(): entries leave. If both are set, splitting counts. A change that is a single
// store, with a sound node before it and after it, needs no mark. Flags are the user's: five bits
// that change under the lock and live as long as the word.
//
// After a crash. A word in a region is volatile in meaning, and its line may have reached the
// medium at any moment, lock and marks set (Cohen et al., ASPLOS 2019, section 4.3). So each
// opening of the region has a new generation, and lock() writes it into the word. A lock or mark of
// another generation is nobody's: lock() takes it over and says so, stable() clears it. A structure
// that repairs what its dead writer left unfinished does so when lock() tells it; one whose logs
// have undone it already need not look. Words without lock and marks are left alone, so a run that
// only reads writes nothing. Words in ordinary memory use generation 0 for ever.
//
// Invariants.
//  W1  The word of a node that nobody changes has no marks, and none appears without the lock.
//  W2  Each unlock() after a mark gives a word that changed() tells from those before it, until the
//      counter has gone round: 2^18 changes of one node within one read of it.
//  W3  At most one thread holds the lock of the running generation.
// The generation goes round after 2^20 openings.
//
// Memory model. The numbers are those at the code. (3), (4) and (5) are the writer's: its CAS that
// locks, its marks, its unlock. (1) and (2) are the reader's: the word before and after its loads.
//  - (1) reads (5): the reader sees all of the changes that were finished before.
//  - A field's acquire load that reads a release store of a change synchronises with it, so (4),
//    which comes before that store in its thread, comes before (2) in the reader's: (2) sees the
//    mark or something later, and changed() says yes. Acquire keeps the fields' loads above (2).
//  - (3) reads (5): a writer sees all that the last one wrote.
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

    /// The generation as the calls below take it.
    [[nodiscard]] static constexpr u64 generation_bits(u64 generation) noexcept {
        return generation << generation_shift;
    }

    /// A new word, unlocked. Nobody else may know it yet.
    void init(u64 flag_bits, u64 generation) noexcept {
        // Published by whoever publishes the node.
        word_.store(generation | flag_bits, std::memory_order_release);
    }

    // --- readers ---
    /// (2) Synchronises with (4) and (5) by way of the fields that were loaded before.
    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }

    /// The word once no change is under way.
    [[nodiscard]] u64 stable(u64 generation) noexcept {
        return stable(generation, [] { return backoff(); });
    }
    /// The same; where it has to wait, it calls wait() of what `waiter` makes, which may throw.
    template <class Waiter>
    [[nodiscard, gnu::always_inline]] u64 stable(u64 generation, Waiter waiter) {
        const u64 v = word_.load(std::memory_order_acquire);  // (1) synchronises with (5)
        if ((v & marks) == 0) [[likely]] {
            return v;
        }
        return wait_stable(generation, waiter);
    }

    /// Whether what was read since `seen` may be a mixture.
    [[nodiscard]] bool changed(u64 seen) const noexcept {
        return ((load() ^ seen) & ~(locked | generation_field)) != 0;
    }
    /// Whether entries have left, or a flag has turned.
    [[nodiscard]] static constexpr bool split_since(u64 seen, u64 now) noexcept {
        return ((seen ^ now) & (split_field | flags)) != 0;
    }
    [[nodiscard]] static constexpr bool is_held(u64 word, u64 generation) noexcept {
        return (word & locked) != 0 && (word & generation_field) == generation;
    }
    /// Whether a lock or mark is of a generation behind the given one, which can't be.
    [[nodiscard]] static constexpr bool is_of_future(u64 word, u64 generation) noexcept {
        constexpr u64 half = u64{1} << 63;
        return (word & (locked | marks)) != 0 &&
               ((generation - (word & generation_field)) & generation_field) >= half;
    }
    /// For the holder's assertions: it orders nothing (presence_flag::is_up_here()).
    [[nodiscard]] bool is_held(u64 generation) const noexcept {
        return is_held(word_.load(std::memory_order_relaxed), generation);
    }

    // --- writers ---
    [[nodiscard]] bool try_lock(u64 generation) noexcept {
        u64 v = load();
        return !is_held(v, generation) && take(v, generation);
    }

    /// True: taken over from a holder that died with an earlier generation.
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

    // --- the holder of the lock only ---
    void mark_inserting() noexcept { set(inserting); }
    void mark_splitting() noexcept { set(splitting); }
    /// Sets flags, with the mark that makes readers look elsewhere.
    void mark_splitting_with(u64 flag_bits) noexcept { set(splitting | flag_bits); }
    void set_flags(u64 which, bool on) noexcept {
        const u64 v = word_.load(std::memory_order_relaxed);
        // (4) Read by (2), as a mark is.
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
        // (4) Read by (2) of whoever has read a field that is stored after it.
        word_.store(word_.load(std::memory_order_relaxed) | bits, std::memory_order_release);
    }
    bool take(u64& v, u64 generation) noexcept {
        const u64 mine = (v & ~(marks | generation_field)) | locked | generation;
        // (3) Synchronises with (5) of the last holder; one of a dead one is in the memory anyway.
        return word_.compare_exchange_strong(v, mine, std::memory_order_acquire);
    }
    template <class Waiter>
    [[gnu::noinline]] bool wait_lock(u64 generation, Waiter waiter) {
        auto pause = waiter();
        for (;;) {
            u64 v = load();
            const bool dead = (v & locked) != 0;  // if nobody of this generation holds it
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
                // Exchanges with (3) of others who take the dead lock over: one of them wins.
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
