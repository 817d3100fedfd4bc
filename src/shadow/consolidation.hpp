// shadow/consolidation.hpp: how a page with two slots becomes a page with one (rules.hpp).
//
// The lines of the slot that holds fewer of them are copied into the other: at most 32 lines (the
// paper, section 2.2). A page with updated lines is not consolidated (shadow I3).
//
// Persist order.
//   shadow K1  the copied lines are durable. The state table's CB still names their originals, so
//              a crash here loses the copies and nothing else.
//   shadow K2  the page table durably names the slot that is kept (or did already).
//   shadow K3  the entry is removed durably, or its CB becomes that slot for every line.
//   shadow K4  only now the other slot is free.
#pragma once

#include "shadow/bitmaps.hpp"

#include <bit>

namespace hf::shadow {

struct consolidation_plan {
    unsigned kept = 0;       ///< the slot that has, or gets, every line
    line_set to_copy = 0;    ///< from the other slot into the kept one
    line_set committed = 0;  ///< CB after K3, where the entry stays

    [[nodiscard]] constexpr unsigned lines() const noexcept {
        return static_cast<unsigned>(std::popcount(to_copy));
    }
};

/// Keeps the slot with more lines; `preferred` where both have 32: the slot that the page table
/// names, which saves K2.
[[nodiscard]] constexpr consolidation_plan plan_consolidation(line_set committed,
                                                              unsigned preferred = 0) noexcept {
    const int in_p1 = std::popcount(committed);
    const int half = static_cast<int>(lines_per_page / 2);
    const bool keeps_p1 = in_p1 > half || (in_p1 == half && preferred == 1);
    if (keeps_p1) return {1, ~committed, ~line_set{0}};
    return {0, committed, 0};
}

/// Keeps `slot` even if that copies more lines: where a page has to return to its home.
[[nodiscard]] constexpr consolidation_plan plan_consolidation_into(unsigned slot,
                                                                   line_set committed) noexcept {
    if (slot == 1) return {1, ~committed, ~line_set{0}};
    return {0, committed, 0};
}

/// shadow I3.
[[nodiscard]] constexpr bool may_consolidate(const page_bits& b) noexcept { return b.updated == 0; }

}  // namespace hf::shadow
