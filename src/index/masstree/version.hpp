// version.hpp: the version word of a node: lock, change marks, change counters, generation.
//
//   63        44 43      26 25       8   4     3        2          1          0
//   | generation |  vsplit  |  vinsert  | leaf | deleted | splitting | inserting | locked |
//
// Reading (Masstree, EuroSys 2012, section 4.6). Take a stable() version (no change mark), read,
// and take the version again: if changed(), what was read may be a mixture, and is thrown away
// before anything in it is followed. Readers never write shared memory.
//
// Writing. lock(), then mark_inserting() (entries appear or slots are reused: readers of this node
// try again) or mark_splitting() (entries leave for another node: readers look right or start over)
// before the first store, then unlock(), which counts the marks up and clears them.
//
// After a crash (architecture, traps 5; issue of every lock in a file). The word is volatile in
// meaning, and its line may have reached the medium at any moment, lock and marks set. Each opening
// of the region has a new generation, which lock() writes into the word. A lock or mark of another
// generation is nobody's: lock() takes it over, stable() clears it. Words without lock and marks
// are left alone, so a read-only run writes nothing. `leaf` and `deleted` are meant durably: they
// change only in nodes that are in the external log.
//
// The counters wrap after 2^18 changes of one node within one read of it; the generation after 2^20
// openings.
#pragma once

#include <atomic>

#include "base/bits.hpp"
#include "sync/spin_lock.hpp"

namespace hf::masstree_detail {

class version_word {
   public:
    static constexpr u64 locked = 1;
    static constexpr u64 inserting = 2;
    static constexpr u64 splitting = 4;
    static constexpr u64 deleted = 8;
    static constexpr u64 leaf = 16;
    static constexpr u64 marks = inserting | splitting;
    static constexpr unsigned insert_shift = 8;
    static constexpr unsigned split_shift = 26;
    static constexpr unsigned generation_shift = 44;
    static constexpr u64 insert_field = ((u64{1} << 18) - 1) << insert_shift;
    static constexpr u64 split_field = ((u64{1} << 18) - 1) << split_shift;
    static constexpr u64 generation_field = ~((u64{1} << generation_shift) - 1);

    /// The generation as lock() writes it.
    [[nodiscard]] static constexpr u64 generation_bits(u64 generation) noexcept {
        return generation << generation_shift;
    }

    void init(bool is_leaf, u64 generation) noexcept {
        word_.store(generation | (is_leaf ? leaf : 0), std::memory_order_release);
    }

    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }

    /// The word once no change is under way.
    [[nodiscard]] u64 stable(u64 generation) noexcept {
        u64 v = load();
        if ((v & marks) == 0) [[likely]]
            return v;
        return wait_stable(generation);
    }

    /// Whether what was read since `seen` may be a mixture.
    [[nodiscard]] bool changed(u64 seen) const noexcept {
        return ((load() ^ seen) & ~(locked | generation_field)) != 0;
    }
    [[nodiscard]] static bool split_since(u64 seen, u64 now) noexcept {
        return ((seen ^ now) & (split_field | deleted | leaf)) != 0;
    }

    [[nodiscard]] bool try_lock(u64 generation) noexcept {
        u64 v = load();
        if ((v & locked) != 0 && (v & generation_field) == generation) return false;
        return take(v, generation);
    }

    void lock(u64 generation) noexcept {
        u64 v = load();
        if ((v & locked) == 0 && take(v, generation)) [[likely]]
            return;
        wait_lock(generation);
    }

    // --- the holder of the lock only ---
    void mark_inserting() noexcept { set(inserting); }
    void mark_splitting() noexcept { set(splitting); }
    void mark_deleted() noexcept { set(deleted | splitting); }
    void set_leaf(bool is_leaf) noexcept {
        const u64 v = word_.load(std::memory_order_relaxed);
        word_.store(is_leaf ? v | leaf : v & ~leaf, std::memory_order_release);
    }
    void unlock() noexcept {
        u64 v = word_.load(std::memory_order_relaxed);
        if ((v & splitting) != 0) {
            v = (v & ~split_field) | ((v + (u64{1} << split_shift)) & split_field);
        } else if ((v & inserting) != 0) {
            v = (v & ~insert_field) | ((v + (u64{1} << insert_shift)) & insert_field);
        }
        word_.store(v & ~(locked | marks), std::memory_order_release);
    }

   private:
    void set(u64 bits) noexcept {
        word_.store(word_.load(std::memory_order_relaxed) | bits, std::memory_order_release);
    }
    bool take(u64& v, u64 generation) noexcept {
        const u64 mine = (v & ~(marks | generation_field)) | locked | generation;
        return word_.compare_exchange_strong(v, mine, std::memory_order_acquire);
    }
    [[gnu::noinline]] void wait_lock(u64 generation) noexcept {
        backoff pause;
        for (;;) {
            u64 v = load();
            const bool held = (v & locked) != 0 && (v & generation_field) == generation;
            if (!held && take(v, generation)) return;
            pause.wait();
        }
    }

    [[gnu::noinline]] u64 wait_stable(u64 generation) noexcept {
        backoff pause;
        for (;;) {
            u64 v = load();
            if ((v & marks) == 0) return v;
            if ((v & generation_field) != generation) {
                const u64 clean = (v & ~(marks | locked | generation_field)) | generation;
                if (word_.compare_exchange_strong(v, clean, std::memory_order_acq_rel))
                    return clean;
                continue;
            }
            pause.wait();
        }
    }

    std::atomic<u64> word_;
};

}  // namespace hf::masstree_detail
