// hot/node.hpp: the format on the medium: the root block, nodes, and the words in them.
//
//   slot word    | entries 8 | what 8 | offset 48 |       0: empty (in the root block only)
//
//   the root     | lock | word |                           64 bytes
//   one window   | lock | mask 8 | keys | words |          s8, s16, s32
//   two groups   | lock | masks 2 x 8 | byte numbers 16 x 2 | keys | words |     m16
//   four groups  | lock | masks 4 x 8 | byte numbers 32 x 2 | keys | words |     m32
//
// A node has 2 to 32 entries in key order, each with a sparse partial key (1, 2 or 4 bytes,
// depending on the kind) and a word. The words begin on a multiple of 8. Only lock and words
// change. The lock's version field contains constants of the node: | height 12 | window 12 |. The
// window is the index of the first of the eight key bytes that the mask covers.
//
// Keys. A node's masks select the discriminative bits of a key. Extracted in key order, they form
// the dense partial key. An entry's sparse partial key has the bits on the entry's path in the
// node's binary trie, and zeros for the bits not tested on that path. The search result is the
// last entry whose sparse key is a subset of the dense key.
//
// A search may read a whole vector of keys; the bytes after the keys, still in the node's block,
// are masked out. A node with `b` bits has at least b + 1 entries, so its block is larger than the
// widest such load.
#pragma once

#include "eager/node_lock.hpp"
#include "eager/published.hpp"
#include "index/hot/path.hpp"

#include <array>
#include <bit>

namespace hf::hot_detail {

inline constexpr u32 most_entries = 32;

/// The kind of object that a word refers to. For nodes, bits 1 and 0 give the width of keys; bit 3:
/// several groups. `dead`: a record that was removed when there was no memory for a copy without
/// it.
enum class what : u8 {
    nothing = 0,
    record = 1,
    dead = 2,
    root = 3,
    s8 = 4,
    s16 = 5,
    s32 = 6,
    m16 = 9,
    m32 = 10,
};

namespace slot_word {
inline constexpr u64 offset_field = (u64{1} << 48) - 1;

[[nodiscard]] constexpr u64 of(what w, u32 entries, u64 offset) noexcept {
    return u64{entries} << 56 | u64{static_cast<u8>(w)} << 48 | offset;
}
[[nodiscard]] constexpr what what_of(u64 word) noexcept {
    return static_cast<what>(word >> 48 & 0xff);
}
[[nodiscard]] constexpr u32 count_of(u64 word) noexcept { return static_cast<u32>(word >> 56); }
[[nodiscard]] constexpr u64 offset_of(u64 word) noexcept { return word & offset_field; }
[[nodiscard]] constexpr bool is_node(u64 word) noexcept { return what_of(word) >= what::s8; }
/// The block kind for the sweep.
[[nodiscard]] constexpr u32 kind_of(u64 word) noexcept {
    return is_node(word) ? static_cast<u32>(word >> 48) : 0;
}
[[nodiscard]] constexpr u64 of_kind(u32 kind, u64 offset) noexcept {
    return u64{kind} << 48 | offset;
}
}  // namespace slot_word

[[nodiscard]] constexpr bool is_node_kind(what w) noexcept {
    return (w >= what::s8 && w <= what::s32) || w == what::m16 || w == what::m32;
}
[[nodiscard]] constexpr bool has_groups(what w) noexcept { return w >= what::m16; }
[[nodiscard]] constexpr u32 groups_of(what w) noexcept { return w == what::m16 ? 2 : 4; }
[[nodiscard]] constexpr u32 width_bits(what w) noexcept { return static_cast<u32>(w) & 3; }
[[nodiscard]] constexpr u32 keys_at(what w) noexcept {
    return !has_groups(w) ? 16 : w == what::m16 ? 56 : 104;
}
[[nodiscard, gnu::always_inline]] constexpr u32 words_at(u64 word) noexcept {
    const what w = slot_word::what_of(word);
    return (keys_at(w) + (slot_word::count_of(word) << width_bits(w)) + 7) & ~u32{7};
}
[[nodiscard]] constexpr u32 size_of(u64 word) noexcept {
    return words_at(word) + 8 * slot_word::count_of(word);
}

struct node {
    static constexpr u64 obsolete = 2;  ///< flag of the lock; set after the unlinking is durable

    node_lock lock;
    u64 masks[1];  ///< as many as the kind has; the rest of the node follows

    [[nodiscard]] static constexpr u64 fresh_lock(u32 height, u32 window, u32 generation) noexcept {
        return node_lock::fresh(0, false, generation) | u64{height} << 20 | u64{window} << 8;
    }
    [[nodiscard]] u32 height() const noexcept {
        return static_cast<u32>(lock.load() >> 20) & 0xfff;
    }
    [[nodiscard]] u32 window() const noexcept { return static_cast<u32>(lock.load() >> 8) & 0xfff; }

    template <class T>
    [[nodiscard]] T* behind(u32 bytes) noexcept {
        return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(this) + bytes);
    }
    template <class T>
    [[nodiscard]] const T* behind(u32 bytes) const noexcept {
        return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(this) + bytes);
    }
    [[nodiscard]] const u16* byte_numbers(what w) const noexcept {
        return behind<u16>(8 + 8 * groups_of(w));
    }
    [[nodiscard]] u16* byte_numbers(what w) noexcept { return behind<u16>(8 + 8 * groups_of(w)); }
    [[nodiscard, gnu::always_inline]] published* words(u64 word) noexcept {
        return behind<published>(words_at(word));
    }
    /// Faster words() for an index of short keys: all of its nodes have one mask (s8, s16, s32).
    [[nodiscard, gnu::always_inline]] published* words_of_single_mask(u64 word) noexcept {
        const u32 width = static_cast<u32>(word >> 48) & 3;
        return behind<published>((16 + (slot_word::count_of(word) << width) + 7) & ~u32{7});
    }
    [[nodiscard]] u32 key(what w, u32 i) const noexcept {
        const std::byte* at = behind<std::byte>(keys_at(w));
        if (width_bits(w) == 0) return reinterpret_cast<const u8*>(at)[i];
        if (width_bits(w) == 1) return reinterpret_cast<const u16*>(at)[i];
        return reinterpret_cast<const u32*>(at)[i];
    }
    /// The position of the node's first bit.
    [[nodiscard]] u32 first_bit(what w) const noexcept {
        const auto zeros = static_cast<u32>(std::countl_zero(masks[0]));
        if (!has_groups(w)) return 8 * window() + zeros;
        return 8 * u32{byte_numbers(w)[zeros / 8]} + zeros % 8;
    }
    /// Whether words loaded before this lock word may be volatile: a writer holds the node, was
    /// killed while it held it, or has replaced the node.
    [[nodiscard]] static constexpr bool may_be_volatile(u64 lock_word) noexcept {
        return (lock_word & (node_lock::locked | obsolete)) != 0;
    }
};
static_assert(sizeof(node) == 16);

struct root_block {
    node_lock lock;
    published word;
};
static_assert(sizeof(root_block) == 16);

}  // namespace hf::hot_detail
