// masstree/checkpoint/seal.hpp: bits by which a leaf's words tell that they are what was written,
// and in this leaf.
//
// Purpose. A bit of a leaf that has flipped must not show a key's value of another time: a slot
// that was freed still names the record that it had, a log of a finished epoch the value before.
// The record's checksum (record.hpp) can't tell, for the record is whole. So each word of a leaf
// that decides which record is the key's has a seal, in bits that it had to spare:
//
//   permutation, its log   | seal 4 | 15 nibbles |                        XOR of all nibbles
//   value, node epoch      | seal 16 | 48 bits |                          of a product
//   value log              | epoch 16 | seal 8 | offset 36 | slot, kind 4 |
//
// The leaf's place in the region is in each: whole leaves, and lines, that lie in another's place
// are noticed, too. Each word is sealed by itself and stored at once, so no order of stores, no
// torn line and no reader in between ever sees a word that its seal contradicts.
//
// What they tell. Every single flipped bit; of other damage to a word all but one of 16 (the
// permutation), 256 (a log) and 65,536 (others). Not that a whole line is an older one of this
// leaf. The rest of a leaf (keys, lengths, links) and interior nodes need none: where they mislead,
// a record's checksum contradicts its key, or the key is not found, which `holdfast check` tells.
// That a key is not stored where it does not belong is the leaf's home (leaf.hpp). A permutation's
// seal is short, so its slots are summed up besides (permutation.hpp).
//
// When they are looked at. A permutation and a value: whenever they are read for a key. Epochs and
// logs: as long as an epoch that failed is remembered, for only then they count, and before they
// are written over.
#pragma once

#include <holdfast/pointer.hpp>

#include "base/bits.hpp"

namespace hf::masstree_detail::seal {

/// Where a leaf lies, as its seals know it: windows are aligned (region/arena.hpp).
[[nodiscard]] inline u64 place_of(const void* leaf) noexcept {
    return reinterpret_cast<u64>(leaf) & window_mask;
}

/// XOR of a word's nibbles, in the lowest.
[[nodiscard]] constexpr u64 fold(u64 w) noexcept {
    w ^= w >> 32;
    w ^= w >> 16;
    w ^= w >> 8;
    w ^= w >> 4;
    return w & 15;
}

/// A multiple of the plain word in which each of its bits reaches the uppermost 16.
[[nodiscard]] constexpr u64 mixed(u64 plain, u64 place) noexcept {
    return (plain ^ place << 5) * 0x9e3779b97f4a7c15;
}

/// Twelve bits, of which each bit of the word that flips changes some: it is multiplied by a number
/// no twelve bits of which in a row are equal, so neither what it adds nor a carry leaves the
/// uppermost twelve as they were.
[[nodiscard]] constexpr unsigned twelve_of(u64 w) noexcept {
    return static_cast<unsigned>((w ^ 0x452821e638d01377) * 0x9e3779b97f4a7c15 >> 52);
}

/// Of 60 bits. Words of zeros have none.
namespace nibbles {
inline constexpr unsigned shift = 60;
inline constexpr u64 sum = 0xa;
[[nodiscard]] constexpr u64 put(u64 plain, u64 place) noexcept {
    return plain | (fold(plain ^ place) ^ sum) << shift;
}
[[nodiscard]] constexpr bool fits(u64 w, u64 place) noexcept { return fold(w ^ place) == sum; }
}  // namespace nibbles

/// Of 48 bits.
namespace wide {
inline constexpr unsigned shift = 48;
inline constexpr u64 plain_bits = (u64{1} << shift) - 1;
[[nodiscard]] constexpr u64 plain(u64 w) noexcept { return w & plain_bits; }
[[nodiscard]] constexpr u64 put(u64 plain, u64 place) noexcept {
    return plain | mixed(plain, place) >> shift << shift;
}
[[nodiscard]] constexpr bool fits(u64 w, u64 place) noexcept { return put(plain(w), place) == w; }
}  // namespace wide

/// Of a word whose bits 40 to 47 are the seal's.
namespace narrow {
inline constexpr unsigned shift = 40;
inline constexpr u64 bits = u64{0xff} << shift;
static_assert(window_bits <= shift, "a log has no offsets beyond");
[[nodiscard]] constexpr u64 put(u64 plain, u64 place) noexcept {
    return plain | mixed(plain, place) >> 56 << shift;
}
[[nodiscard]] constexpr bool fits(u64 w, u64 place) noexcept { return put(w & ~bits, place) == w; }
}  // namespace narrow

}  // namespace hf::masstree_detail::seal
