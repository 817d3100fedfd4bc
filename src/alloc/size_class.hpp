// size_class.hpp: block sizes of the allocator.
//
// A block is a 16-byte header followed by the payload. Blocks are 32 to 128 bytes in steps of 16,
// then four classes a doubling up to 64 KiB. A block whose size is a multiple of 64 starts on a
// cache line, so its payload starts 16 bytes into one: what an in-cache-line log has to know.
// Larger payloads get whole pages.
#pragma once

#include "base/bits.hpp"
#include "region/layout.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace hf {

using layout::page_size;

inline constexpr u32 block_header_size = 16;
inline constexpr u32 largest_block = 64 * 1024;
inline constexpr u32 linear_classes = 7;  // 32, 48, ..., 128
inline constexpr u32 block_classes = linear_classes + 4 * 9;
/// Pseudo class under which extents are accounted.
inline constexpr u32 extent_class = block_classes;
inline constexpr u32 accounted_classes = block_classes + 1;

/// Class of the smallest block with at least `block` bytes, header included; block <=
/// largest_block.
[[nodiscard]] constexpr u32 class_of_block(u64 block) noexcept {
    if (block <= 128) return static_cast<u32>((std::max<u64>(block, 32) - 32 + 15) / 16);
    const u64 last = block - 1;
    const u32 doubling = static_cast<u32>(std::bit_width(last)) - 8;  // 128 < block <= 256: 0
    const u32 quarter = static_cast<u32>((last >> (doubling + 5)) & 3);
    return linear_classes + 4 * doubling + quarter;
}

[[nodiscard]] constexpr u32 block_size(u32 size_class) noexcept {
    if (size_class < linear_classes) return 32 + 16 * size_class;
    const u32 doubling = (size_class - linear_classes) / 4;
    const u32 quarter = (size_class - linear_classes) % 4;
    return (128U << doubling) + (quarter + 1) * (32U << doubling);
}

/// Pages that so many bytes take.
[[nodiscard]] constexpr u64 pages_of(u64 bytes) noexcept {
    return (bytes + page_size - 1) / page_size;
}

/// Pages of a slab: at least 16 blocks, at least one page.
[[nodiscard]] constexpr u32 slab_pages(u32 size_class) noexcept {
    return static_cast<u32>(pages_of(u64{16} * block_size(size_class)));
}

[[nodiscard]] constexpr u32 slab_blocks(u32 size_class) noexcept {
    return static_cast<u32>(u64{slab_pages(size_class)} * page_size / block_size(size_class));
}

[[nodiscard]] constexpr bool is_large(u64 payload) noexcept {
    return payload + block_header_size > largest_block;
}

[[nodiscard]] constexpr u64 extent_pages(u64 payload) noexcept {
    return pages_of(payload + block_header_size);
}

/// Whether a larger block may be handed out for want of one of a class. It must be found out later
/// what it is: so both lie in slabs of one page, whose descriptor says it. And the payload must
/// begin where it would in a line.
[[nodiscard]] constexpr bool may_stand_in(u32 larger, u32 wanted) noexcept {
    return larger > wanted && slab_pages(larger) == 1 &&
           (block_size(wanted) % 64 != 0 || block_size(larger) % 64 == 0);
}

static_assert(block_size(block_classes - 1) == largest_block);
static_assert(class_of_block(largest_block) == block_classes - 1);
static_assert(class_of_block(129) == linear_classes && block_size(linear_classes) == 160);

}  // namespace hf
