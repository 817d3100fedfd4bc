// shadow/bitmaps.hpp: which slot of a page holds which version of each line (rules.hpp).
//
// Two bits a line, committed C and updated U (the paper, section 2.1):
//
//   read slot  = C xor U     the running transaction's version if there is one, else the committed
//   write slot = C xor 1     never the committed version (shadow I1)
//   commit:  C ^= U, U = 0        abort:  U = 0
#pragma once

#include "base/bits.hpp"

namespace hf::shadow {

inline constexpr unsigned lines_per_page = 64;
inline constexpr u64 page_size = lines_per_page * line_size;

/// One bit a line of a page; bit i is the line at i * 64 bytes.
using line_set = u64;

[[nodiscard]] constexpr line_set only(unsigned line) noexcept { return line_set{1} << line; }

/// A page's change by one commit: for each line in `mask` the committed bit becomes that of
/// `value`. Applying it twice is applying it once; changes with disjoint masks commute.
struct page_change {
    u64 page = 0;       ///< a page's number, or its index in the state table: as the journal has it
    line_set mask = 0;  ///< the lines that the commit updated
    line_set value = 0;  ///< their new committed bits; a subset of mask

    [[nodiscard]] constexpr line_set applied_to(line_set committed) const noexcept {
        return (committed & ~mask) | (value & mask);
    }
    friend constexpr bool operator==(const page_change&, const page_change&) = default;
};

/// The bits of one page. Slots are 0 (P0) and 1 (P1).
struct page_bits {
    line_set committed = 0;
    line_set updated = 0;

    [[nodiscard]] constexpr unsigned committed_slot(unsigned line) const noexcept {
        return committed >> line & 1;
    }
    /// The slot that loads of the running transaction use.
    [[nodiscard]] constexpr unsigned read_slot(unsigned line) const noexcept {
        return (committed ^ updated) >> line & 1;
    }
    /// The slot that stores use, before as after the first one.
    [[nodiscard]] constexpr unsigned write_slot(unsigned line) const noexcept {
        return committed_slot(line) ^ 1;
    }
    /// True before the transaction's first store to the line: the store must first fetch the
    /// committed version into the write slot, unless it overwrites the whole line.
    [[nodiscard]] constexpr bool needs_old_line(unsigned line) const noexcept {
        return (updated >> line & 1) == 0;
    }
    constexpr void store(unsigned line) noexcept { updated |= only(line); }
    /// The lines that a commit flushes.
    [[nodiscard]] constexpr line_set to_flush() const noexcept { return updated; }
    /// The record of a commit of all updated lines, made before commit().
    [[nodiscard]] constexpr page_change change(u64 page) const noexcept {
        return change_of(page, updated);
    }
    /// The record of a commit of the updated lines in `mine`: one of several transactions that
    /// have updated different lines of this page (shadow I4).
    [[nodiscard]] constexpr page_change change_of(u64 page, line_set mine) const noexcept {
        const line_set mask = updated & mine;
        return {page, mask, ~committed & mask};
    }
    constexpr void commit(line_set mine = ~line_set{0}) noexcept {
        committed ^= updated & mine;
        updated &= ~mine;
    }
    constexpr void abort(line_set mine = ~line_set{0}) noexcept { updated &= ~mine; }

    friend constexpr bool operator==(const page_bits&, const page_bits&) = default;
};

}  // namespace hf::shadow
