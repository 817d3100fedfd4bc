// hot/grown.hpp: adds an entry to a node of one window, without a draft.
//
// Purpose. The fast path of nearly every insert. A draft processes a node entry by entry, in loops
// of unpredictable length. Here all 32 sparse keys of a node are processed at once, and words are
// copied in bulk. The result is identical, byte for byte, to the draft's.
//
// Sparse keys ascend as numbers: two keys that differ at a bit are equal above it. So the entries
// that share an entry's path above a bit are found by counting the keys below it, and the keys not
// above it.
//
// The caller holds the node's lock, so words do not change. Keys are read as whole vectors, which
// may extend over the words after them (node.hpp).
#pragma once

#include "index/hot/draft.hpp"

#include <cstring>
#include <optional>

namespace hf::hot_detail {

/// A new entry: it leaves the path of `entry` at `bit`, with the bit value `one`.
struct newcomer {
    u32 entry;
    u32 bit;  ///< position in the window
    bool one;
    u64 word;
};

/// Copies the sparse keys and adds the new one; returns its index. `below`: the number of the
/// node's bits after the new entry's. `is_asked`: the node has that bit already.
template <class From, class To>
[[nodiscard]] u32 add_sparse_key(const From* from, u32 count, To* to, const newcomer& c, u32 below,
                                 bool is_asked) noexcept {
    const To mine = static_cast<To>(u32{1} << below);
    const To lower = static_cast<To>(mine - 1);
    const To above = static_cast<To>(~(mine | lower));
    // adding the moved bits to themselves shifts them by one
    const To moving = is_asked ? To{0} : static_cast<To>(~lower);
    const To old = static_cast<To>(from[c.entry]);
    const To way = static_cast<To>((old + (old & moving)) & above);
    const To given = c.one ? To{0} : mine;
    std::array<To, most_entries + 1> made;  // one element to the right
    u8 less = 0;
    u8 not_more = 0;
    made[0] = 0;
    for (u32 i = 0; i < most_entries; ++i) {
        const auto was = static_cast<To>(from[i]);
        const auto moved = static_cast<To>(was + (was & moving));
        const auto prefix = static_cast<To>(moved & above);
        const bool is_there = i < count;
        less = static_cast<u8>(less + static_cast<u8>(is_there & (prefix < way)));
        not_more = static_cast<u8>(not_more + static_cast<u8>(is_there & (prefix <= way)));
        made[i + 1] = static_cast<To>(moved | (prefix == way ? given : To{0}));
    }
    const u32 at = c.one ? not_more : less;
    for (u32 i = 0; i < most_entries; ++i) {
        const To key = i < at ? made[i + 1] : made[i];
        to[i] = i <= count ? key : To{0};
    }
    to[at] = static_cast<To>(c.one ? way | mine : way);
    return at;
}

[[nodiscard]] inline u32 add_sparse_key_by_width(const node* n, what was, node* to, what will,
                                                 u32 count, const newcomer& c, u32 below,
                                                 bool is_asked) noexcept {
    const u32 at = keys_at(was);
    const auto add = [&]<class From, class To>(From, To) {
        return add_sparse_key(n->behind<From>(at), count, to->behind<To>(at), c, below, is_asked);
    };
    if (width_bits(will) == 0) return add(u8{}, u8{});
    if (width_bits(will) == 1) return width_bits(was) == 0 ? add(u8{}, u16{}) : add(u16{}, u16{});
    return width_bits(was) == 1 ? add(u16{}, u32{}) : add(u32{}, u32{});
}

/// Copies the words and adds the new one. Returns true if another word is a dead record's.
[[nodiscard]] inline bool add_word(const published* from, u32 count, published* to, u32 at,
                                   u64 word) noexcept {
    std::memcpy(static_cast<void*>(to), static_cast<const void*>(from), u64{8} * at);
    to[at].fill(word);
    std::memcpy(static_cast<void*>(to + at + 1), static_cast<const void*>(from + at),
                u64{8} * (count - at));
    bool is_dead = false;
    for (u32 i = 0; i < count; ++i) {
        u64 old = 0;
        std::memcpy(&old, static_cast<const void*>(from + i), sizeof old);
        is_dead |= slot_word::what_of(old) == what::dead;
    }
    return is_dead;
}

/// Makes the new node in the buffer and returns its word, without the offset. nullopt: a draft is
/// needed.
[[nodiscard]] inline std::optional<u64> grow(node_buffer& buffer, node* n, u64 word,
                                             const newcomer& c, u32 generation) noexcept {
    const what was = slot_word::what_of(word);
    const u32 count = slot_word::count_of(word);
    if (has_groups(was) || count >= most_entries || c.entry >= count || c.bit >= 64) return {};
    const u64 mine = u64{1} << (63 - c.bit);
    const u64 mask = n->masks[0] | mine;
    const auto bits = static_cast<u32>(std::popcount(mask));
    // A bit before the first one would change the window of string keys; more bits than entries
    // would be damage.
    if (n->masks[0] < mine || bits > count) return {};
    const u32 width = bits <= 8 ? 0 : bits <= 16 ? 1 : 2;
    if (width < width_bits(was)) return {};
    const auto will = static_cast<what>(static_cast<u32>(what::s8) + width);
    const u64 made = slot_word::of(will, count + 1, 0);
    node* to = buffer.get();
    std::memset(buffer.at.data() + align_down(size_of(made) - 1, line_size), 0, line_size);
    to->lock.fill(node::fresh_lock(n->height(), n->window(), generation));
    to->masks[0] = mask;
    const auto below = static_cast<u32>(std::popcount(mask & (mine - 1)));
    const u32 at = add_sparse_key_by_width(n, was, to, will, count, c, below, mask == n->masks[0]);
    if (add_word(n->words(word), count, to->words(made), at, c.word)) return {};
    return made;
}

}  // namespace hf::hot_detail
