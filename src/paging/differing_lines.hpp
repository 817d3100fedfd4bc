// paging/differing_lines.hpp: which lines of a page differ from another version of it.
#pragma once

#include "base/bits.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <iterator>

namespace hf {

/// Whether the 64 bytes at `a` and at `b` differ.
[[nodiscard]] inline bool differs(const std::byte* a, const std::byte* b) noexcept {
    u64 mine[line_size / sizeof(u64)];
    u64 base[line_size / sizeof(u64)];
    std::memcpy(mine, a, line_size);
    std::memcpy(base, b, line_size);
    u64 difference = 0;
    for (std::size_t i = 0; i < std::size(mine); ++i) difference |= mine[i] ^ base[i];
    return difference != 0;
}

/// A mask of the lines of the page of 4 KiB that differ from `base`, bit i for the line at i * 64
/// bytes; lines in `known` are not compared.
[[nodiscard]] inline u64 differing_lines(const std::byte* page, const std::byte* base,
                                         u64 known = 0) noexcept {
    u64 found = 0;
    for (u64 left = ~known; left != 0; left &= left - 1) {
        const auto line = static_cast<u64>(std::countr_zero(left));
        found |= u64{differs(page + line * line_size, base + line * line_size)} << line;
    }
    return found;
}

}  // namespace hf
