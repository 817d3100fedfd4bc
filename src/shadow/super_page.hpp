// shadow/super_page.hpp: commits of several pages by one store of eight bytes (rules.hpp).
//
// A super page holds the committed bitmaps of 512 pages, eight in a line, and is itself a page with
// two slots and 64 committed bits (the paper, section 2.3). A transaction stores the new bitmaps of
// its pages into the super page as it stores data: into the slot that is not committed. Then one
// store of the super page's own committed bitmap commits them all. Where there are more than 512
// pages, the super pages' bitmaps lie in a super page of the next level, and only the root's bitmap
// is stored in place.
//
//   root CB (one word) -> super page, level 2: 512 CBs -> super page, level 1: 512 CBs -> pages
//
// Before the root's store all lines are durable that it makes current: those of data (P1), and at
// each level those that hold a changed bitmap.
#pragma once

#include "shadow/bitmaps.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace hf::shadow {

inline constexpr unsigned bitmaps_per_line = line_size / sizeof(line_set);
inline constexpr unsigned bitmaps_per_super_page = lines_per_page * bitmaps_per_line;

/// One super page in memory: its two slots and its own bits.
struct super_page {
    std::array<std::array<line_set, bitmaps_per_super_page>, 2> slots{};
    page_bits bits;

    [[nodiscard]] static constexpr unsigned line_of(unsigned index) noexcept {
        return index / bitmaps_per_line;
    }
    /// The bitmap of page `index` as the running transaction sees it.
    [[nodiscard]] constexpr line_set read(unsigned index) const noexcept {
        return slots[bits.read_slot(line_of(index))][index];
    }
    [[nodiscard]] constexpr line_set committed(unsigned index) const noexcept {
        return slots[bits.committed_slot(line_of(index))][index];
    }
    /// The first store to a line fetches the line's other bitmaps, as a store of data does.
    constexpr void write(unsigned index, line_set bitmap) noexcept {
        const unsigned line = line_of(index);
        const unsigned to = bits.write_slot(line);
        if (bits.needs_old_line(line)) {
            const unsigned first = line * bitmaps_per_line;
            for (unsigned i = first; i < first + bitmaps_per_line; ++i) {
                slots[to][i] = slots[to ^ 1][i];
            }
        }
        slots[to][index] = bitmap;
        bits.store(line);
    }
    constexpr void apply(const page_change& c, unsigned index) noexcept {
        write(index, c.applied_to(read(index)));
    }
};

/// Levels of super pages that `pages` bitmaps need, 1 or more.
[[nodiscard]] constexpr unsigned super_page_levels(u64 pages) noexcept {
    unsigned levels = 1;
    for (u64 reach = bitmaps_per_super_page; reach < pages; reach *= bitmaps_per_super_page) {
        ++levels;
    }
    return levels;
}

/// Lines of bitmaps that a commit of these pages flushes, with the root's. `indexes` are the
/// pages' numbers among the bitmaps, ascending and each once.
[[nodiscard]] constexpr u64 super_page_lines(std::span<const u64> indexes, u64 pages) noexcept {
    if (indexes.empty()) return 0;
    u64 lines = 1;  // the root's bitmap
    u64 in_a_line = bitmaps_per_line;
    for (unsigned level = super_page_levels(pages); level != 0; --level) {
        u64 last = ~u64{0};
        for (const u64 i : indexes) {
            if (i / in_a_line != last) ++lines;
            last = i / in_a_line;
        }
        in_a_line *= bitmaps_per_super_page;
    }
    return lines;
}

}  // namespace hf::shadow
