// bwtree/cell.hpp: the name of a node: a word that leads to what the node is now.
//
//   cell   32 bytes   | word | lock | sure | hints |
//   word              | version 13 | frozen 1 | hold 1 | . | offset 48 |
//   hints             | what lies behind the first delta, in lines 32 | the chain's node 32 |
//
//   sure     the word that was last known to be durable. Another word than that is published, and
//            perhaps not durable: whoever meets it makes it so, and stores it here
//   hold     somebody sets a dead bit in the chain: nobody publishes meanwhile
//   frozen   the leaf goes into its left neighbour: nothing comes to it any more
//   version  how often it was held: who has read the chain before must not publish
//
// Sureness, holds and versions are volatile in meaning: an unsure word that a crash leaves costs
// its finder a fence, a hold has a holder who has the lock in this generation, or it is dead.
//
// `sure` is stored behind a fence, without compare and swap: that would wait for the fence's
// write-backs, a store does not, and does not overtake them either. A late store may put an older
// word there, which costs somebody a fence. A word that leads elsewhere never comes to be again
// meanwhile: its offset was free in between, so all operations that knew it have ended before, and
// their stores come before their ends. And who publishes has seen that `sure` was another word.
// A leaf that is frozen, thawed and frozen again has the same words again, and a late store may
// call one sure that is not. Both lead to the same chain, so nobody reads anything else for it; a
// merge, which needs its freezing durable, flushes that itself, whatever stands here.
//
// Hints are stored behind the word, without order, and never flushed. A chain is a list, and each
// step a miss; by the hints all of it can be loaded at once. They may be wrong: nobody follows them
// but a prefetch, which does nothing where there is no memory.
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
    /// Whether a word that was loaded is durable.
    [[nodiscard]] bool is_sure(u64 word) const noexcept {
        return sure_.load(std::memory_order_acquire) == word;
    }
    /// Behind the fence that made it durable.
    HF_TRACED_APART void set_sure(u64 word) const noexcept {
        sure_.store(word, std::memory_order_release);
    }
    /// Of a cell that nobody knows yet.
    HF_TRACED_APART void fill(u64 offset, u32 generation) noexcept {
        word_.store(offset, std::memory_order_relaxed);
        lock.fill(node_lock::fresh(0, false, generation));
        sure_.store(offset, std::memory_order_relaxed);
        hint(offset, 0);
    }
    /// Publishes.
    [[nodiscard]] HF_TRACED_APART bool replace(u64 seen, u64 offset) noexcept {
        return word_.compare_exchange_strong(seen, with_offset(seen, offset),
                                             std::memory_order_acq_rel);
    }
    /// No delta comes to a frozen leaf.
    [[nodiscard]] HF_TRACED_APART bool freeze(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, seen | frozen, std::memory_order_acq_rel);
    }
    [[nodiscard]] HF_TRACED_APART bool thaw(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, seen & ~frozen, std::memory_order_acq_rel);
    }
    [[nodiscard]] HF_TRACED_APART bool take_hold(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, seen | hold, std::memory_order_acq_rel);
    }
    /// Another version: who has read what the holder changed must not publish.
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
        u64 behind;  ///< 0: nothing
    };
    [[nodiscard]] hints load_hints() const noexcept {
        const u64 both = hints_.load(std::memory_order_relaxed);
        return {both % lines * line_size, both / lines * line_size};
    }

   private:
    static constexpr u64 lines = u64{1} << 32;

    mutable std::atomic<u64> word_;

   public:
    /// Of who changes an inner node, or holds a leaf: volatile in meaning.
    node_lock lock;

   private:
    mutable std::atomic<u64> sure_;
    std::atomic<u64> hints_;
};
static_assert(sizeof(cell) == 32);

}  // namespace hf::bwtree_detail
