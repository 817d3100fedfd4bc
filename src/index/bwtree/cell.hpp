// bwtree/cell.hpp: the indirection word of a logical node: points to the head of its delta chain.
//
//   cell   32 bytes   | word | lock | durable | hints |
//   word              | version 13 | frozen 1 | hold 1 | . | offset 48 |
//   hints             | block after the first delta, in lines 32 | the chain's node, in lines 32 |
//
//   durable  the word that was last known to be durable. Any other word is published, but possibly
//            volatile: the thread that reads it makes it durable and stores it here
//   hold     a thread is setting a tombstone bit in the chain; publishing must wait
//   frozen   the leaf is being merged into its left neighbour; no delta may be added
//   version  incremented after each hold: a writer that read the chain before cannot publish
//
// `durable`, holds and versions have no meaning after a crash. A word that differs from `durable`
// costs its reader a fence. A hold is valid only while the cell's lock is held in this generation.
//
// `durable` is stored after a fence, by a plain store: a compare-and-swap would wait for the
// fence's write-backs. A late store may put an older word there, which costs another thread a
// fence. No later word with another offset can equal that older word by chance (ABA): its offset
// must have been freed in between, so all operations that knew the word have ended, and their
// stores precede their ends. And each publisher has seen that `durable` was a different word. A
// leaf that is frozen, thawed and frozen again has equal words, and a late store may mark one as
// durable that is not. Both words point to the same chain, so no reader gets a different result.
// Only a merge depends on a durable freeze, and it flushes the word itself, whatever `durable`
// says.
//
// Hints are stored after the word, relaxed, and never flushed. A chain is a linked list with a
// cache miss per step; with the hints all of it is prefetched at once. They may be wrong: only a
// prefetch uses them, which has no effect on an invalid address.
#pragma once

#include "eager/node_lock.hpp"

namespace hf::bwtree_detail {

class cell {
   public:
    static constexpr u64 hold = u64{1} << 49;
    static constexpr u64 frozen = u64{1} << 50;
    static constexpr u64 one_version = u64{1} << 51;
    static constexpr u64 offset_field = (u64{1} << 48) - 1;

    [[nodiscard]] static constexpr u64 offset_of(u64 word) noexcept { return word & offset_field; }
    [[nodiscard]] static constexpr u64 with_offset(u64 word, u64 offset) noexcept {
        return (word & ~offset_field) | offset;
    }
    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }
    /// True if a word that was loaded is known to be durable.
    [[nodiscard]] bool is_durable(u64 word) const noexcept {
        return durable_.load(std::memory_order_acquire) == word;
    }
    /// Call after the fence that made the word durable.
    HF_TRACED_APART void set_durable(u64 word) const noexcept {
        durable_.store(word, std::memory_order_release);
    }
    /// Initialises a cell that is not reachable yet.
    HF_TRACED_APART void fill(u64 offset, u32 generation) noexcept {
        word_.store(offset, std::memory_order_relaxed);
        lock.fill(node_lock::fresh(0, false, generation));
        durable_.store(offset, std::memory_order_relaxed);
        hint(offset, 0);
    }
    /// Publishes a new chain head; false: another thread has changed the word.
    [[nodiscard]] HF_TRACED_APART bool replace(u64 seen, u64 offset) noexcept {
        return word_.compare_exchange_strong(seen, with_offset(seen, offset),
                                             std::memory_order_acq_rel);
    }
    /// Stops further deltas to the leaf.
    [[nodiscard]] HF_TRACED_APART bool freeze(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, seen | frozen, std::memory_order_acq_rel);
    }
    [[nodiscard]] HF_TRACED_APART bool thaw(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, seen & ~frozen, std::memory_order_acq_rel);
    }
    [[nodiscard]] HF_TRACED_APART bool take_hold(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, seen | hold, std::memory_order_acq_rel);
    }
    /// Releases a hold and increments the version, so that writers that read the chain before the
    /// tombstone bit was set cannot publish.
    HF_TRACED_APART void end_hold(u64 seen) const noexcept {
        word_.compare_exchange_strong(seen, (seen & ~hold) + one_version,
                                      std::memory_order_acq_rel);
    }

    HF_TRACED_APART void hint(u64 node, u64 behind) noexcept {
        hints_.store(node / line_size % lines | behind / line_size * lines,
                     std::memory_order_relaxed);
    }
    struct hints {
        u64 node;
        u64 behind;  ///< 0: none
    };
    [[nodiscard]] hints load_hints() const noexcept {
        const u64 both = hints_.load(std::memory_order_relaxed);
        return {both % lines * line_size, both / lines * line_size};
    }

   private:
    static constexpr u64 lines = u64{1} << 32;

    mutable std::atomic<u64> word_;

   public:
    /// Held to change an inner node, or during a leaf's hold. Has no meaning after a crash.
    node_lock lock;

   private:
    mutable std::atomic<u64> durable_;
    std::atomic<u64> hints_;
};
static_assert(sizeof(cell) == 32);

}  // namespace hf::bwtree_detail
