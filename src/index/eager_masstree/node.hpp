// eager_masstree/node.hpp: the format on the medium: a layer's root block, nodes, and words.
//
//   root block  | lock | word |                                       16 bytes
//   node        | lock | order | next | last | 14 x (key 8, word 8) |  256 bytes, four lines
//   entry word of byte keys  | class 8 | layer 8 | offset 48 |
//
// Leaves and interior nodes have the same format. The lock's flags contain the level (0: leaf) and
// whether the node is obsolete: unlinked, but possibly still visited by running operations. `order`
// lists the used pairs in key order (masstree/permutation.hpp). `last` is the last key of the
// node's range; larger keys are in the nodes after `next`. An interior pair has the first key of
// its child. A pair in a leaf of integers has a key and its value; in a leaf of byte strings a
// slice, and an entry word that points to a record or to the root block of the next layer.
//
// Lock, order, next and last share a line with pairs 0 and 1. These two are the last ones that a
// new node uses, and the first ones that an insert takes.
#pragma once

#include "eager/node_lock.hpp"
#include "eager/published.hpp"
#include "index/masstree/key.hpp"
#include "index/masstree/permutation.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace hf::eager_masstree_detail {

inline constexpr unsigned width = 14;
inline constexpr unsigned pairs_beside_order = 2;  ///< in the line of `order`
inline constexpr unsigned highest_level = 63;      ///< the limit of the lock's flags
inline constexpr u64 highest = std::numeric_limits<u64>::max();
using order_word = masstree_detail::permutation<width>;
using masstree_detail::key_cursor;
using masstree_detail::longer;

/// Block kinds for the sweep; records are traced::leaf.
enum class what : u32 { root = 1, node = 2 };

namespace entry_word {
inline constexpr u64 offset_field = (u64{1} << 48) - 1;
[[nodiscard]] constexpr u64 of(unsigned length_class, bool is_layer, u64 offset) noexcept {
    return u64{length_class} << 56 | u64{is_layer} << 48 | offset;
}
[[nodiscard]] constexpr unsigned class_of(u64 word) noexcept {
    return static_cast<unsigned>(word >> 56);
}
[[nodiscard]] constexpr bool is_layer(u64 word) noexcept { return (word >> 48 & 0xff) != 0; }
[[nodiscard]] constexpr u64 offset_of(u64 word) noexcept { return word & offset_field; }
[[nodiscard]] constexpr u32 kind_of(u64 word) noexcept {
    return is_layer(word) ? static_cast<u32>(what::root) : 0;
}
}  // namespace entry_word

struct root_block {
    node_lock lock;
    published word;  ///< offset of the leftmost node of the highest level
};
static_assert(sizeof(root_block) == 16);

struct pair {
    published key;
    published word;
};

struct node {
    node_lock lock;
    published order;
    published next;
    published last;
    std::array<pair, width> pairs;

    [[nodiscard]] static constexpr u64 fresh_lock(unsigned level, u32 generation) noexcept {
        return node_lock::fresh(u64{level} << 1, false, generation);
    }
    static constexpr u64 gone = 0x80;  ///< flag of the lock: the node was unlinked
    [[nodiscard]] static constexpr unsigned level_in(u64 lock_word) noexcept {
        return static_cast<unsigned>((lock_word & node_lock::flags & ~gone) >> 1);
    }
    [[nodiscard]] bool is_gone() const noexcept { return (lock.load() & gone) != 0; }
    [[nodiscard]] unsigned level() const noexcept { return level_in(lock.load()); }
    [[nodiscard]] order_word used() const noexcept { return order_word(order.load()); }
    /// The pair at a rank; an arbitrary pair if the order is damaged.
    [[nodiscard]] const pair& pair_at(order_word o, unsigned rank) const noexcept {
        return pairs.data()[o.slot(rank)];
    }
    [[nodiscard]] u64 key_at(order_word o, unsigned rank) const noexcept {
        return pair_at(o, rank).key.load();
    }
    /// The number of keys below `key`.
    [[nodiscard]] unsigned below(order_word o, u64 key) const noexcept {
        unsigned n = 0;
        const unsigned size = o.size();
        for (unsigned r = 0; r < size; ++r) n += key_at(o, r) < key ? 1 : 0;
        return n;
    }
    /// The rank of the child whose range contains `key`: the last pair not above it. -1: no such
    /// pair, because of a concurrent change.
    [[nodiscard]] int child_rank(order_word o, u64 key) const noexcept {
        int n = -1;
        const unsigned size = o.size();
        for (unsigned r = 0; r < size; ++r) n += key_at(o, r) <= key ? 1 : 0;
        return n;
    }
    struct place {
        unsigned rank;
        bool is_there;
    };
    /// With Classes (leaves of byte strings) equal slices are distinguished by length class.
    template <bool Classes>
    [[nodiscard]] place find(order_word o, u64 key, unsigned length_class) const noexcept {
        unsigned r = below(o, key);
        const unsigned size = o.size();
        if constexpr (Classes) {
            for (; r < size && key_at(o, r) == key; ++r) {
                const unsigned c = entry_word::class_of(pair_at(o, r).word.load());
                if (c >= length_class) return {r, c == length_class};
            }
            return {r, false};
        }
        return {r, r < size && key_at(o, r) == key};
    }
    /// A free pair of a node that is not full, in the line of `order` if possible. It is taken from
    /// the free ranks, even if the order is damaged, because inserted() searches it there.
    [[nodiscard]] static constexpr unsigned free_slot(order_word o) noexcept {
        for (unsigned r = o.size(); r < width; ++r) {
            if (o.slot(r) < pairs_beside_order) return o.slot(r);
        }
        return o.slot(o.size());
    }
    /// The pair that a new node uses for a rank. Those in the line of `order` are used last: a
    /// later insert into one of them flushes only that line, with one fence.
    [[nodiscard]] static constexpr unsigned fresh_slot(unsigned rank) noexcept {
        return (rank + pairs_beside_order) % width;
    }
    [[nodiscard]] static constexpr order_word fresh_order(unsigned size) noexcept {
        u64 w = size;
        for (unsigned r = 0; r < width; ++r) w |= u64{fresh_slot(r)} << (4 * r + 4);
        return order_word(w);
    }
    /// Number of meaningful bytes of a new node with `size` pairs.
    [[nodiscard]] static constexpr u64 fresh_bytes(unsigned size) noexcept {
        return 4 * sizeof(u64) + sizeof(pair) * std::min(size + pairs_beside_order, width);
    }
    /// Fills pair number `i` of a node that is not reachable yet.
    void fill_pair(unsigned i, u64 key, u64 word) noexcept {
        pair& p = pairs[fresh_slot(i)];
        p.key.fill(key);
        p.word.fill(word);
    }
    void fill_header(unsigned level, u32 generation, unsigned count, u64 next_offset,
                     u64 last_key) noexcept {
        lock.fill(fresh_lock(level, generation));
        order.fill(fresh_order(count).word());
        next.fill(next_offset);
        last.fill(last_key);
    }
    [[gnu::always_inline]] void prefetch() const noexcept {
        const auto* line = reinterpret_cast<const char*>(this);
        __builtin_prefetch(line);
        __builtin_prefetch(line + line_size);
        __builtin_prefetch(line + 2 * line_size);
        __builtin_prefetch(line + 3 * line_size);
    }
};
static_assert(sizeof(node) == 256);
static_assert(node::fresh_bytes(0) == line_size && node::fresh_bytes(width) == sizeof(node));
static_assert(node::fresh_order(width / 2).is_valid());

/// An integer is its own, single slice.
class number_cursor {
   public:
    explicit number_cursor(u64 k) noexcept : key_(k) {}
    [[nodiscard]] u64 slice() const noexcept { return key_; }
    [[nodiscard]] static constexpr unsigned length_class() noexcept { return 0; }

   private:
    u64 key_;
};

}  // namespace hf::eager_masstree_detail
