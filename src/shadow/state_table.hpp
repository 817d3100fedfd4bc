// shadow/state_table.hpp: entries of the consistent state table, on the medium (rules.hpp).
//
//   entry, 32 bytes, two a line:   | V + 1 | P0 | P1 | CB |        V + 1 == 0: the entry is free
//
// V is the virtual page's number, P0 and P1 are physical pages' numbers, CB the committed bitmap.
//
// Persist order.
//   shadow T1  insertion: P0, P1 and CB are written before V + 1. They are in one line, whose
//              stores reach the medium in program order, so an entry that has V has the rest.
//   shadow T2  the entry is durable before the first record that names its page is.
//   shadow T3  removal: V + 1 = 0, one store, after the page table durably names the only slot
//              that is left (shadow K2). Until then the entry is right, too.
#pragma once

#include "shadow/bitmaps.hpp"

namespace hf::shadow {

struct table_entry {
    u64 page_plus_one = 0;
    u64 slot[2] = {0, 0};
    line_set committed = 0;

    [[nodiscard]] constexpr bool is_used() const noexcept { return page_plus_one != 0; }
    [[nodiscard]] constexpr u64 page() const noexcept { return page_plus_one - 1; }
    /// The physical page that holds the committed version of `line`.
    [[nodiscard]] constexpr u64 committed_in(unsigned line) const noexcept {
        return slot[committed >> line & 1];
    }
    constexpr void apply(const page_change& c) noexcept { committed = c.applied_to(committed); }
    /// False for an entry that no order of the rules can leave: both slots are one physical page,
    /// or beyond `physical_pages`.
    [[nodiscard]] constexpr bool is_sane(u64 physical_pages) const noexcept {
        return !is_used() ||
               (slot[0] != slot[1] && slot[0] < physical_pages && slot[1] < physical_pages);
    }
    friend constexpr bool operator==(const table_entry&, const table_entry&) = default;
};
static_assert(sizeof(table_entry) == 32);

/// The entry of a page that `mapped` holds alone, with `spare` as its other slot: all lines are
/// committed in P0.
[[nodiscard]] constexpr table_entry entry_for(u64 page, u64 mapped, u64 spare) noexcept {
    return {page + 1, {mapped, spare}, 0};
}

}  // namespace hf::shadow
