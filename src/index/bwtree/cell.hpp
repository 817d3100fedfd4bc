// bwtree/cell.hpp: the name of a node: a word that leads to what the node is now.
//
//   cell   32 bytes   | word | lock | node | behind |
//   word              | version 13 | frozen 1 | hold 1 | mark 1 | offset 48 |
//
//   mark     published, and perhaps not durable: whoever meets it makes it so and takes it away
//   hold     somebody sets a dead bit in the chain: nobody publishes meanwhile
//   frozen   the leaf goes into its left neighbour: nothing comes to it any more
//   version  how often it was held: who has read the chain before must not publish
//
// Marks, holds and versions are volatile in meaning: a mark that a crash leaves costs its finder a
// fence, a hold has a holder who has the lock in this generation, or it is dead.
//
// `node` and `behind` are hints, stored behind the word, without order, and never flushed: what the
// chain ends with, and what lies behind its first delta. A chain is a list, and each step a miss;
// by the hints all of it can be loaded at once. They may be wrong: nobody follows them but a
// prefetch, which does nothing where there is no memory.
#pragma once

#include "eager/node_lock.hpp"

namespace hf::bwtree_detail {

class cell {
   public:
    static constexpr u64 mark = u64{1} << 48;
    static constexpr u64 hold = u64{1} << 49;
    static constexpr u64 frozen = u64{1} << 50;
    static constexpr u64 one_version = u64{1} << 51;
    static constexpr u64 offset_field = mark - 1;

    [[nodiscard]] static constexpr u64 offset_of(u64 word) noexcept { return word & offset_field; }
    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }
    /// Of a cell that nobody knows yet.
    HF_TRACED_APART void fill(u64 offset, u32 generation) noexcept {
        word_.store(offset, std::memory_order_relaxed);
        lock.fill(node_lock::fresh(0, false, generation));
        hint(offset, 0);
    }
    HF_TRACED_APART void hint(u64 node, u64 behind) noexcept {
        node_.store(node, std::memory_order_relaxed);
        behind_.store(behind, std::memory_order_relaxed);
    }
    [[nodiscard]] u64 node_hint() const noexcept { return node_.load(std::memory_order_relaxed); }
    /// 0: nothing.
    [[nodiscard]] u64 behind_hint() const noexcept {
        return behind_.load(std::memory_order_relaxed);
    }
    /// Publishes, with the mark.
    [[nodiscard]] HF_TRACED_APART bool replace(u64 seen, u64 offset) noexcept {
        return word_.compare_exchange_strong(seen, (seen & ~offset_field) | mark | offset,
                                             std::memory_order_acq_rel);
    }
    /// No delta comes to a frozen leaf. With the mark.
    [[nodiscard]] HF_TRACED_APART bool freeze(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, seen | frozen | mark, std::memory_order_acq_rel);
    }
    [[nodiscard]] HF_TRACED_APART bool thaw(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, (seen & ~frozen) | mark,
                                             std::memory_order_acq_rel);
    }
    /// `seen` is durable.
    HF_TRACED_APART void clear_mark(u64 seen) const noexcept {
        word_.compare_exchange_strong(seen, seen & ~mark, std::memory_order_acq_rel);
    }
    [[nodiscard]] HF_TRACED_APART bool take_hold(u64 seen) noexcept {
        return word_.compare_exchange_strong(seen, seen | hold, std::memory_order_acq_rel);
    }
    /// Another version: who has read what the holder changed must not publish.
    HF_TRACED_APART void end_hold(u64 seen) const noexcept {
        word_.compare_exchange_strong(seen, (seen & ~hold) + one_version,
                                      std::memory_order_acq_rel);
    }

   private:
    mutable std::atomic<u64> word_;

   public:
    /// Of who changes an inner node, or holds a leaf: volatile in meaning.
    node_lock lock;

   private:
    std::atomic<u64> node_;
    std::atomic<u64> behind_;
};
static_assert(sizeof(cell) == 32);

}  // namespace hf::bwtree_detail
