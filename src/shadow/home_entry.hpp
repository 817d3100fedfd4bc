// shadow/home_entry.hpp: the table's entry of a page whose first slot is its home (rules.hpp), for
// the software engine (transaction/shadow_slots.hpp). P0 follows from V, and checks take its place.
//
//   entry, 32 bytes, two a line:   | name | not CB | P1 | CB |
//   name, 64 bits:                 | check of V and P1, 32 | V + 1, 32 |        0: the slot is free
//
// Damage. A name has a check of its page and slot: damaged bits pass it once in 2^32. CB and its
// copy: each difference is seen, in any number of bits.
//
// The copy needs no fence. A commit flips CB and copy by two stores, after its record is durable.
// A crash may keep one of them: then the two differ in lines that a record names, and the replay
// writes these. So only a difference in a line that no record names is damage (unexplained()).
// Removal is one store, the name's, as T3 of state_table.hpp; insertion writes the name last (T1).
#pragma once

#include "base/checksum.hpp"
#include "shadow/bitmaps.hpp"

#include <optional>

namespace hf::shadow {

inline constexpr unsigned page_number_bits = 32;

/// The name of page `page` in the entry of slot `slot`. Page numbers are below 2^32 - 1. Not 0.
[[nodiscard]] inline u64 entry_name(u64 page, u64 slot) noexcept {
    constexpr u64 below = (u64{1} << page_number_bits) - 1;
    const u64 both[2] = {page, slot};
    return (checksum64(both, sizeof both, 0x534c4f54) & ~below) | ((page + 1) & below);
}

/// The page that the name says; nullopt: it is no name in the entry of that slot. Not of a free
/// entry.
[[nodiscard]] inline std::optional<u64> page_of_name(u64 name, u64 slot) noexcept {
    const u64 page = (name & ((u64{1} << page_number_bits) - 1)) - 1;
    if (name == 0 || entry_name(page, slot) != name) return std::nullopt;
    return page;
}

/// The lines in which the committed bits contradict their copy, and that no record names.
[[nodiscard]] constexpr line_set unexplained(line_set committed, line_set copy,
                                             line_set named) noexcept {
    return (committed ^ ~copy) & ~named;
}

}  // namespace hf::shadow
