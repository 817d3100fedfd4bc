// node.hpp: what leaves and interior nodes look like; every struct that the tree lays into a
// region.
//
// Both are blocks of 320 bytes, five cache lines, block header included, and have their version
// word at the same place: so a layer's root can turn from a leaf into an interior node where it
// stands, and back. Nothing above a root ever has to learn of a new one.
//
//   durable leaf, 14 slots                                       interior node
//   line 0  header | version, perm, perm log, node epoch,        header | version, log epoch, key
//   count
//           log epoch, next
//   line 1  lengths, low key, keys 0-5                           keys 0-7
//   line 2  keys 6-13                                            keys 8-14, child 0
//   line 3  value log 0, values 0-6                              children 1-8
//   line 4  values 7-13, value log 1                             children 9-15
//
// The field order of lines 0, 3 and 4 is what the in-cache-line logs stand on (leaf_log.hpp). The
// transient leaf has no logs and 15 slots.
//
// There are no parent and no prev links: a split finds the parent on its path or by a descent, a
// backward scan descends for the key below a leaf's low key. So a split logs the nodes on its path
// only, and no neighbours and children.
#pragma once

#include <array>
#include <atomic>

#include "base/bits.hpp"
#include "index/masstree/permutation.hpp"
#include "index/masstree/version.hpp"

namespace hf::masstree_detail {

using word = std::atomic<u64>;

[[nodiscard]] inline u64 load(const word& w) noexcept { return w.load(std::memory_order_acquire); }
inline void store(word& w, u64 v) noexcept { w.store(v, std::memory_order_release); }

inline constexpr u64 node_block = 320;
inline constexpr u64 node_payload = node_block - 16;

/// What every node begins with.
struct node {
    version_word version;
};

struct durable_leaf : node {
    static constexpr unsigned width = 14;
    word order;            ///< which slots are used, in order
    word permutation_log;  ///< permutation at the start of epoch node_epoch
    word node_epoch;       ///< epoch of the last change to line 0
    word log_epoch;        ///< epoch in which the node was last logged externally, or made
    word next;             ///< offset of the right neighbour; 0: none
    word lengths;          ///< 4 bits a slot: length class
    word low_key;          ///< least slice that belongs here
    std::array<word, width> keys;
    word value_log_0;
    std::array<word, width> values;
    word value_log_1;
};
static_assert(sizeof(durable_leaf) == node_payload);

struct transient_leaf : node {
    static constexpr unsigned width = 15;
    word order;
    word next;
    word lengths;
    word low_key;
    std::array<word, width> keys;
    std::array<word, width> values;
    std::array<word, 3> spare;
};
static_assert(sizeof(transient_leaf) == node_payload);

struct interior : node {
    static constexpr unsigned width = 15;
    word log_epoch;
    word count;  ///< keys; one more child
    std::array<word, 3> spare;
    std::array<word, width> keys;
    std::array<word, width + 1> children;

    /// Index of the child to whose range `slice` belongs.
    [[nodiscard]] unsigned child_index(u64 slice) const noexcept {
        const u64 n = load(count);
        unsigned i = 0;
        for (unsigned k = 0; k < width; ++k) {
            i += static_cast<unsigned>(k < n) & static_cast<unsigned>(load(keys[k]) <= slice);
        }
        return i;
    }
    /// A reader may see any count; the children beyond are not to be read.
    [[nodiscard]] unsigned key_count() const noexcept {
        return static_cast<unsigned>(load(count)) & 15;
    }
};
static_assert(sizeof(interior) <= node_payload);

/// Byte in a node's block at which a field lies, for the line arithmetic below.
[[nodiscard]] inline unsigned line_in_block(const void* owner, const void* field) noexcept {
    const auto distance = static_cast<const char*>(field) - static_cast<const char*>(owner);
    return static_cast<unsigned>(distance + 16) / line_size;
}

[[nodiscard]] inline unsigned length_class(u64 lengths, unsigned slot) noexcept {
    return static_cast<unsigned>((lengths >> (4 * slot)) & 15);
}
[[nodiscard]] inline u64 with_length_class(u64 lengths, unsigned slot, unsigned c) noexcept {
    return (lengths & ~(u64{15} << (4 * slot))) | static_cast<u64>(c) << (4 * slot);
}

/// Starts loading all five lines of a node.
inline void prefetch_node(const void* n) noexcept {
    const auto* first = static_cast<const char*>(n) - 16;
    for (unsigned l = 0; l < node_block / line_size; ++l) __builtin_prefetch(first + l * line_size);
}

}  // namespace hf::masstree_detail
