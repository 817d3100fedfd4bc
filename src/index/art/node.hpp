// art/node.hpp: the format on the medium: nodes of four sizes, and the words in them.
//
//   slot word    | key byte 8 | what 8 | offset 48 |       0: empty
//   prefix word  | bytes 32 or 56 | length 13 or 4 | level 13 or 4 |
//
//   N4     64 bytes   | lock | prefix | end | . | slots 0-3 |
//   N16   192 bytes   | lock | prefix | end | count | hints 0-15 | slots 0-15 |
//   N48   448 bytes   | lock | prefix | hints 0-46, count || slots 0-46 | end |
//   N256 2112 bytes   | lock | prefix | end | count | .      || slots 0-255 |
//
// A slot's word contains a child and the byte that leads to it, so that one store makes both
// visible and durable. `end` is the record of the key that ends at this node.
//
// Hints. hints[i] is the key byte that slots[i] probably has; count is the number of used slots.
// They can be derived from the words and are never flushed: they are valid only in the generation
// in the lock's version field. A reader compares all hints at once, then verifies the words. If the
// hints are of this generation, a byte without a hint is not in the node; otherwise the reader
// searches the words. The first writer of a generation that locks a node rebuilds its hints. In an
// N48 an entry is stored in its byte's home line if that has room, so a reader can prefetch it.
#pragma once

#include "eager/node_lock.hpp"
#include "eager/published.hpp"
#include "index/art/path.hpp"
#include "index/art/search.hpp"
#include "persist/trace.hpp"

#include <array>
#include <bit>

namespace hf::art_detail {

/// Stores a volatile hint, relaxed: the store of the word that follows is a release.
template <class T>
HF_TRACED_APART inline void store_hint(std::atomic<T>& to, T v) noexcept {
    to.store(v, std::memory_order_relaxed);
}

/// The kind of object that a slot's word refers to; for nodes also their kind for the sweep.
enum class what : u8 { nothing = 0, record = 1, n4 = 2, n16 = 3, n48 = 4, n256 = 5 };

namespace slot_word {
inline constexpr u64 offset_field = (u64{1} << 48) - 1;

[[nodiscard]] constexpr u64 of(u8 byte, what w, u64 offset) noexcept {
    return u64{byte} << 56 | u64{static_cast<u8>(w)} << 48 | offset;
}
[[nodiscard]] constexpr u8 byte_of(u64 word) noexcept { return static_cast<u8>(word >> 56); }
[[nodiscard]] constexpr what what_of(u64 word) noexcept {
    return static_cast<what>(word >> 48 & 0xff);
}
[[nodiscard]] constexpr u64 offset_of(u64 word) noexcept { return word & offset_field; }
/// The word for the same child with another byte.
[[nodiscard]] constexpr u64 by(u64 word, u8 byte) noexcept {
    return word << 8 >> 8 | u64{byte} << 56;
}
[[nodiscard]] constexpr bool is_node(u64 word) noexcept { return what_of(word) > what::record; }
}  // namespace slot_word

/// Level: the number of key bytes that lead to the node's slots; constant. Length: how many of them
/// are the node's prefix, so level - length bytes lead to the node.
template <class Path>
struct prefix {
    static constexpr u32 stored_bytes = Path::stored_bytes;
    static constexpr u64 mask = (u64{1} << Path::level_bits) - 1;

    u32 level = 0;
    u32 length = 0;
    u64 bytes = 0;  ///< the first stored() bytes of the prefix, as one number

    [[nodiscard]] u32 stored() const noexcept { return std::min(length, stored_bytes); }
    [[nodiscard]] u64 pack() const noexcept {
        return level | u64{length} << Path::level_bits | bytes << (2 * Path::level_bits);
    }
    [[nodiscard]] static prefix unpack(u64 word) noexcept {
        return {static_cast<u32>(word & mask), static_cast<u32>(word >> Path::level_bits & mask),
                word >> (2 * Path::level_bits)};
    }
    /// The prefix of a node of this level to which `depth` bytes lead.
    template <class Key>
    [[nodiscard]] static prefix of(const Key& key, u32 depth, u32 level) noexcept {
        prefix p{level, level - depth, 0};
        p.bytes = Path::chunk(key, depth, p.stored());
        return p;
    }
    /// I2: false in the middle of a split or a merge of prefixes, and permanently after a crash
    /// there.
    [[nodiscard]] bool fits(u32 depth) const noexcept { return depth + length == level; }
};

struct found_word {
    published* at = nullptr;
    u64 word = 0;
};

struct node {
    static constexpr u64 obsolete = 2;  ///< flag of the lock; set after the unlinking is durable

    node_lock lock;
    published prefix_word;

    /// The lock word of a new node, whose hints are valid.
    [[nodiscard]] static constexpr u64 fresh_lock(bool held, u32 generation) noexcept {
        return node_lock::fresh(0, held, generation) | version_for(generation);
    }
    [[nodiscard]] static constexpr u64 version_for(u32 generation) noexcept {
        return u64{generation} << 8 & node_lock::version_field;
    }
    [[nodiscard]] static constexpr bool has_hints(u64 lock_word, u32 generation) noexcept {
        return node_lock::version_of(lock_word) == version_for(generation);
    }
    /// Whether words loaded before this lock word may be volatile: a writer holds the node, was
    /// killed while it held it, or has replaced the node.
    [[nodiscard]] static constexpr bool may_be_volatile(u64 lock_word) noexcept {
        return (lock_word & (node_lock::locked | obsolete)) != 0;
    }
};

/// Returns a slot with this byte.
template <class Slots>
[[nodiscard, gnu::always_inline]] inline found_word find_in_words(Slots& slots, u8 byte) noexcept {
    for (published& s : slots) {
        const u64 w = s.load();
        if (w != 0 && slot_word::byte_of(w) == byte) return {&s, w};
    }
    return {};
}
template <class Slots>
[[nodiscard]] inline u32 count_words(const Slots& slots) noexcept {
    u32 n = 0;
    for (const published& s : slots) n += s.load() != 0 ? 1 : 0;
    return n;
}
template <class Slots, class Hints>
[[nodiscard, gnu::always_inline]] inline found_word find_by_hints(Slots& slots, const Hints& hints,
                                                                  u8 byte,
                                                                  bool are_right) noexcept {
    for (search::mask m = search::equal(hints, byte) & ((search::mask{1} << slots.size()) - 1);
         m != 0; m &= m - 1) {
        published& s = slots[static_cast<unsigned>(std::countr_zero(m))];
        const u64 w = s.load();
        if (w != 0 && slot_word::byte_of(w) == byte) [[likely]] {
            return {&s, w};
        }
    }
    if (are_right) [[likely]] {
        return {};
    }
    return find_in_words(slots, byte);
}

struct node4 : node {
    static constexpr what kind = what::n4;
    static constexpr u32 least =
        0;  ///< with at most this many slots in use the next smaller node suffices
    published end;
    u64 spare;
    std::array<published, 4> slots;

    [[nodiscard]] found_word find(u8 byte, bool /*hints*/) noexcept {
        return find_in_words(slots, byte);
    }
    [[nodiscard]] u32 count() const noexcept { return count_words(slots); }
    [[nodiscard]] published* free_slot(u8 /*byte*/) noexcept {
        for (published& s : slots) {
            if (s.load() == 0) return &s;
        }
        return nullptr;
    }
    void note_added(const published* /*slot*/, u8 /*byte*/) noexcept {}
    void note_removed() noexcept {}
    void make_hints() noexcept {}
};

struct node16 : node {
    static constexpr what kind = what::n16;
    static constexpr u32 least = 3;
    published end;
    std::atomic<u64> used;
    std::array<search::hint, 16> hints;
    std::array<published, 16> slots;

    [[nodiscard]] found_word find(u8 byte, bool are_right) noexcept {
        return find_by_hints(slots, hints, byte, are_right);
    }
    [[nodiscard]] u32 count() const noexcept {
        return static_cast<u32>(used.load(std::memory_order_relaxed));
    }
    [[nodiscard]] published* free_slot(u8 /*byte*/) noexcept {
        if (count() == slots.size()) return nullptr;
        const std::size_t first = count();  // the first free one, unless entries were removed
        for (std::size_t i = 0; i < slots.size(); ++i) {
            published& s = slots[(first + i) % slots.size()];
            if (s.load() == 0) return &s;
        }
        return nullptr;
    }
    void note_added(const published* slot, u8 byte) noexcept {
        store_hint(hints[static_cast<std::size_t>(slot - slots.data())], byte);
        store_hint(used, u64{count() + 1});
    }
    void note_removed() noexcept { store_hint(used, u64{count() - 1}); }
    void make_hints() noexcept {
        store_hint(used, u64{count_words(slots)});
        for (std::size_t i = 0; i < slots.size(); ++i) {
            store_hint(hints[i], slot_word::byte_of(slots[i].load()));
        }
    }
};

struct node48 : node {
    static constexpr what kind = what::n48;
    static constexpr u32 least = 12;
    static constexpr std::size_t width = 47;
    std::array<search::hint, 48> hints;  ///< the last element is the count
    std::array<published, width> slots;
    published end;

    /// The first slot of a byte's home line.
    [[nodiscard]] static constexpr std::size_t home_of(u8 byte) noexcept {
        return std::size_t{byte} * 6 / 256 * 8;
    }
    [[nodiscard]] found_word find(u8 byte, bool are_right) noexcept {
        return find_by_hints(slots, hints, byte, are_right);
    }
    [[nodiscard]] u32 count() const noexcept {
        return hints[width].load(std::memory_order_relaxed);
    }
    [[nodiscard]] published* free_slot(u8 byte) noexcept {
        if (count() == width) return nullptr;
        const std::size_t first = home_of(byte);
        for (std::size_t i = 0; i < width; ++i) {
            published& s = slots[(first + i) % width];
            if (s.load() == 0) return &s;
        }
        return nullptr;
    }
    void note_added(const published* slot, u8 byte) noexcept {
        store_hint(hints[static_cast<std::size_t>(slot - slots.data())], byte);
        set_count(count() + 1);
    }
    void note_removed() noexcept { set_count(count() - 1); }
    void make_hints() noexcept {
        set_count(count_words(slots));
        for (std::size_t i = 0; i < width; ++i) {
            store_hint(hints[i], slot_word::byte_of(slots[i].load()));
        }
    }

   private:
    void set_count(u32 n) noexcept { store_hint(hints[width], static_cast<u8>(n)); }
};

struct node256 : node {
    static constexpr what kind = what::n256;
    static constexpr u32 least = 37;
    published end;
    std::atomic<u64> used;
    std::array<u64, 4> spare;
    std::array<published, 256> slots;

    [[nodiscard]] found_word find(u8 byte, bool /*hints*/) noexcept {
        const u64 w = slots[byte].load();
        return {w != 0 ? &slots[byte] : nullptr, w};
    }
    [[nodiscard]] u32 count() const noexcept {
        return static_cast<u32>(used.load(std::memory_order_relaxed));
    }
    [[nodiscard]] published* free_slot(u8 byte) noexcept { return &slots[byte]; }
    void note_added(const published* /*slot*/, u8 /*byte*/) noexcept {
        store_hint(used, u64{count() + 1});
    }
    void note_removed() noexcept { store_hint(used, u64{count() - 1}); }
    void make_hints() noexcept { store_hint(used, u64{count_words(slots)}); }
};

// The layout has no padding: all fields have 8 bytes, except for the hints.
static_assert(sizeof(node) == 16 && sizeof(node4) == 64 && sizeof(node16) == 176);
static_assert(sizeof(node48) == 448 && sizeof(node256) == 2112);
static_assert(sizeof(node) + sizeof(node48::hints) == line_size);

/// Calls f(n) with n cast to its concrete type.
template <class F>
[[gnu::always_inline]] inline decltype(auto) visit_node(node* n, what w, F&& f) {
    switch (w) {
        case what::n4:
            return f(*static_cast<node4*>(n));
        case what::n16:
            return f(*static_cast<node16*>(n));
        case what::n48:
            return f(*static_cast<node48*>(n));
        default:
            return f(*static_cast<node256*>(n));
    }
}
[[nodiscard]] inline u64 size_of(what w) noexcept {
    constexpr u64 sizes[] = {0, 0, sizeof(node4), sizeof(node16), sizeof(node48), sizeof(node256)};
    return sizes[static_cast<unsigned>(w) % 6];
}
[[nodiscard]] constexpr bool is_node_kind(what w) noexcept {
    return w >= what::n4 && w <= what::n256;
}

}  // namespace hf::art_detail
