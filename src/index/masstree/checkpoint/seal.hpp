// masstree/checkpoint/seal.hpp: checksums in spare bits of a leaf's words. They tell that a word is
// what was written, and in this leaf.
//
// Purpose. A flipped bit in a leaf must not make a key's value of another time visible: a freed
// slot still refers to its former record, and the log of a finished epoch to the previous value.
// The record's checksum (record.hpp) does not help, because that record is intact. So each word of
// a leaf that determines which record belongs to a key has a seal in its spare bits:
//
//   permutation, its log   | seal 4 | 15 nibbles |                        XOR of all nibbles
//   value, node epoch      | seal 16 | 48 bits |                          of a product
//   value log              | epoch 16 | seal 8 | offset 36 | slot, kind 4 |
//
// Each seal includes the leaf's offset, so a leaf or a line that was copied to another place is
// detected, too. Each word has its own seal and is written by one store, so neither the order of
// stores, nor a torn line, nor a concurrent reader ever shows a word that contradicts its seal.
//
// Coverage. Every single flipped bit; of other damage to a word all but one of 16 (permutation),
// 256 (log) and 65,536 (others). Not covered: a line replaced by an older version of itself. The
// rest of a leaf (keys, lengths, links) and interior nodes have no seals: if they mislead a search,
// the record's checksum contradicts the key, or the key is not found, which `holdfast check`
// reports. The leaf's home (leaf.hpp) prevents storing a key in a wrong leaf. Because a
// permutation's seal is short, the sum of its slot numbers is checked as well (permutation.hpp).
//
// Checks. A permutation and a value: whenever they are read for a key. Epochs and logs: as long as
// a failed epoch is remembered, because only then they have an effect, and before they are
// overwritten.
#pragma once

#include <holdfast/pointer.hpp>

#include "base/bits.hpp"

namespace hf::masstree_detail::seal {

/// A leaf's offset, as used in its seals: windows are aligned (region/arena.hpp).
[[nodiscard]] inline u64 place_of(const void* leaf) noexcept {
    return reinterpret_cast<u64>(leaf) & window_mask;
}

/// XOR of a word's nibbles, in the lowest four bits.
[[nodiscard]] constexpr u64 fold(u64 w) noexcept {
    w ^= w >> 32;
    w ^= w >> 16;
    w ^= w >> 8;
    w ^= w >> 4;
    return w & 15;
}

/// A product in which each bit of the plain word affects the uppermost 16 bits.
[[nodiscard]] constexpr u64 mixed(u64 plain, u64 place) noexcept {
    return (plain ^ place << 5) * 0x9e3779b97f4a7c15;
}

/// Twelve check bits. Every single flipped bit of `w` changes some of them: the multiplier has no
/// run of twelve equal bits, so the added or subtracted shifted multiplier, with its carry, changes
/// the uppermost twelve bits.
[[nodiscard]] constexpr unsigned twelve_of(u64 w) noexcept {
    return static_cast<unsigned>((w ^ 0x452821e638d01377) * 0x9e3779b97f4a7c15 >> 52);
}

/// Seals of words with 60 bits of contents. An all-zero word is not sealed.
namespace nibbles {
inline constexpr unsigned shift = 60;
inline constexpr u64 sum = 0xa;
[[nodiscard]] constexpr u64 put(u64 plain, u64 place) noexcept {
    return plain | (fold(plain ^ place) ^ sum) << shift;
}
[[nodiscard]] constexpr bool fits(u64 w, u64 place) noexcept { return fold(w ^ place) == sum; }
}  // namespace nibbles

/// Seals of words with 48 bits of contents.
namespace wide {
inline constexpr unsigned shift = 48;
inline constexpr u64 plain_bits = (u64{1} << shift) - 1;
[[nodiscard]] constexpr u64 plain(u64 w) noexcept { return w & plain_bits; }
[[nodiscard]] constexpr u64 put(u64 plain, u64 place) noexcept {
    return plain | mixed(plain, place) >> shift << shift;
}
[[nodiscard]] constexpr bool fits(u64 w, u64 place) noexcept { return put(plain(w), place) == w; }
}  // namespace wide

/// Seals in bits 40 to 47 of a word.
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
