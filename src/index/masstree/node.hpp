// node.hpp: the common part of nodes, and interior nodes. With the leaves of checkpoint/leaf.hpp
// and transient/adapter.hpp these are all structs that the tree stores in a region.
//
// Nodes are blocks of 320 bytes, five cache lines, including the block header, and have their
// version word at the same place. So a layer's root can change from a leaf into an interior node in
// place, and back, and no pointer to it changes.
//
//   interior node
//   line 0  header | version, log epoch, key count, home
//   line 1  keys 0-7
//   line 2  keys 8-14, child 0
//   line 3  children 1-8
//   line 4  children 9-15
//
// There are no parent and no prev links: a split finds the parent on its path or by a descent, a
// backward scan descends to the key below a leaf's low key. So a split logs only the nodes on its
// path, and neither neighbours nor children.
#pragma once

#include <holdfast/pointer.hpp>

#include "base/bits.hpp"
#include "index/masstree/permutation.hpp"
#include "index/masstree/search.hpp"
#include "sync/version_lock.hpp"

#include <array>
#include <atomic>
#include <bit>

namespace hf::masstree_detail {

[[nodiscard]] inline u64 load(const word& w) noexcept { return w.load(std::memory_order_acquire); }
inline void store(word& w, u64 v) noexcept { w.store(v, std::memory_order_release); }

inline constexpr u64 node_block = 320;
inline constexpr u64 node_payload = node_block - 16;

/// The version word of a node. Its flags are durable: they change only in nodes that are in the
/// external log, or permanently.
class version_word : public version_lock {
   public:
    static constexpr u64 deleted = 8;
    static constexpr u64 leaf = 16;

    void init(bool is_leaf, u64 generation) noexcept {
        version_lock::init(is_leaf ? leaf : 0, generation);
    }
    // --- for the holder of the lock only ---
    void mark_deleted() noexcept { mark_splitting_with(deleted); }
    /// For a node whose version is marked: it is an interior node from now on.
    void clear_leaf() noexcept { set_flags(leaf, false); }
    /// One store, so that a reader never sees an unmarked leaf with the words of an interior node.
    void mark_splitting_to_leaf() noexcept { mark_splitting_with(leaf); }
};

/// The common first word of all nodes.
struct node {
    version_word version;
};

/// Prefetches all five lines of a node. Always inlined: g++ considers a function that only
/// prefetches to be without effects, and drops calls of it.
[[gnu::always_inline]] inline void prefetch_node(const void* n) noexcept {
    const auto* first = static_cast<const char*>(n) - 16;
    for (unsigned l = 0; l < node_block / line_size; ++l) __builtin_prefetch(first + l * line_size);
}

struct interior : node {
    static constexpr unsigned width = 15;
    static constexpr unsigned home_bits = 40;
    /// the discipline's: epoch in which the node was last logged externally, or created
    word log_epoch;
    word count;  ///< number of keys; there is one more child
    word spare;
    word home;  ///< home_word() of the node's offset; arbitrary if written by a version without it
    word spare_too;
    std::array<word, width> keys;
    std::array<word, width + 1> children;

    /// `home` detects a node that was copied to another place. Only writers that change a leaf
    /// check it: readers notice a wrong leaf by its contents. A leaf has no such word.
    [[nodiscard]] static constexpr u64 home_word(u64 offset) noexcept {
        const u64 sum = offset * 0x9e3779b97f4a7c15 >> (home_bits + 1);
        return offset | sum << home_bits | u64{1} << 63;
    }
    void settle_at(u64 offset) noexcept { store(home, home_word(offset)); }
    [[nodiscard]] bool is_of_another_place(u64 offset) const noexcept {
        const u64 there = load(home);
        const u64 said = there & ((u64{1} << home_bits) - 1);
        return said != offset && there == home_word(said);
    }

    /// Index of the child whose range contains `slice`.
    [[nodiscard]] unsigned child_index(u64 slice) const noexcept {
        const u64 n = load(count);
        const search::mask used = n < width ? (1U << n) - 1 : (1U << width) - 1;
        return static_cast<unsigned>(std::countr_one(search::not_above(keys, slice) & used));
    }
    /// Prefetches a child before a descent reads it.
    [[gnu::always_inline]] static void prefetch(const node* child) noexcept {
        prefetch_node(child);
    }
    /// The key count, limited to the maximum: a reader may load any count.
    [[nodiscard]] unsigned key_count() const noexcept {
        return static_cast<unsigned>(load(count)) & 15;
    }
};
static_assert(sizeof(interior) <= node_payload);
static_assert(window_bits <= interior::home_bits);

[[nodiscard]] inline unsigned length_class(u64 lengths, unsigned slot) noexcept {
    return static_cast<unsigned>((lengths >> (4 * slot)) & 15);
}
[[nodiscard]] inline u64 with_length_class(u64 lengths, unsigned slot, unsigned c) noexcept {
    return (lengths & ~(u64{15} << (4 * slot))) | static_cast<u64>(c) << (4 * slot);
}

}  // namespace hf::masstree_detail
