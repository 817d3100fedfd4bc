// size_class.hpp: block sizes of the allocator.
//
// A block is a 16-byte header followed by the payload. A block whose size is a multiple of 64
// starts on a cache line, so its payload starts 16 bytes into one, which an in-cache-line log
// relies on. Payloads larger than a block get whole pages.
//
//   bytes up to   a class every
//   512           16 bytes             the finest that a header can express
//   2 KiB         16th of a doubling   the last size of which each class fills a page differently
//   4 KiB         8th
//   64 KiB        4th                  slabs of several pages: few, each mostly idle at first
//
// Class numbers are stored on the medium. Format 1 of a heap had only the classes 0 to 42: one
// every 16 bytes up to 128, then four a doubling. They are part of today's, with unchanged numbers;
// the others have higher numbers. So a number means the same in each heap, and a heap of
// format 1 must never use one of the others.
#pragma once

#include "base/bits.hpp"
#include "region/layout.hpp"

#include <array>
#include <bit>

namespace hf {

using layout::page_size;

inline constexpr u32 block_header_size = 16;
inline constexpr u32 smallest_block = 32;
inline constexpr u32 largest_block = 64 * 1024;
/// Classes of a heap of format 1.
inline constexpr u32 coarse_classes = 7 + 4 * 9;
inline constexpr u32 block_classes = coarse_classes + 44;
/// Pseudo class under which extents are accounted.
inline constexpr u32 extent_class = block_classes;
inline constexpr u32 accounted_classes = block_classes + 1;

namespace detail {

[[nodiscard]] constexpr u32 next_block_size(u32 size) noexcept {
    const u32 doubling = std::bit_floor(size);
    if (size < 512) return size + 16;
    return size + doubling / (size < 2048 ? 16 : size < 4096 ? 8 : 4);
}
[[nodiscard]] constexpr bool is_coarse_size(u32 size) noexcept {
    return size <= 128 || size % (std::bit_floor(size) / 4) == 0;
}

struct class_tables {
    std::array<u16, block_classes> size_in_16ths{};  ///< by class; 64 KiB is 4096
    std::array<u8, block_classes> by_size{};         ///< classes, the smallest first
    /// By size in 16ths, rounded up: the class in a heap of today's format, and of format 1.
    std::array<u8, largest_block / 16 + 1> fine{};
    std::array<u8, largest_block / 16 + 1> coarse{};

    constexpr class_tables() {
        u32 coarse_number = 0;
        u32 other_number = coarse_classes;
        u32 fine_from = 0;
        u32 coarse_from = 0;
        u32 rank = 0;
        for (u32 size = smallest_block; size <= largest_block; size = next_block_size(size)) {
            const bool is_coarse = is_coarse_size(size);
            const auto number = static_cast<u8>(is_coarse ? coarse_number++ : other_number++);
            size_in_16ths[number] = static_cast<u16>(size / 16);
            by_size[rank++] = number;
            while (fine_from <= size / 16) fine[fine_from++] = number;
            while (is_coarse && coarse_from <= size / 16) coarse[coarse_from++] = number;
        }
    }
};
inline constexpr class_tables tables;

}  // namespace detail

/// The classes of a heap: those of format 1, or all.
enum class class_range : u8 { coarse, fine };

[[nodiscard]] constexpr u32 classes_in(class_range of) noexcept {
    return of == class_range::fine ? block_classes : coarse_classes;
}

/// Class of the smallest block with at least `block` bytes, header included; block <=
/// largest_block.
[[nodiscard]] constexpr u32 class_of_block(u64 block, class_range of = class_range::fine) noexcept {
    const auto& classes = of == class_range::fine ? detail::tables.fine : detail::tables.coarse;
    return classes[(block + 15) / 16];
}

[[nodiscard]] constexpr u32 block_size(u32 size_class) noexcept {
    return u32{16} * detail::tables.size_in_16ths[size_class];
}

/// All classes, the smallest blocks first.
[[nodiscard]] constexpr const std::array<u8, block_classes>& classes_by_size() noexcept {
    return detail::tables.by_size;
}

/// Number of pages for `bytes` bytes.
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

/// True if a larger block may serve a request of class `wanted` when the region is full. Its real
/// class must be found later: so both are in slabs of one page, whose descriptor gives it. And
/// there must be room for lead_in().
[[nodiscard]] constexpr bool may_stand_in(u32 larger, u32 wanted) noexcept {
    const u64 most = block_size(wanted) % line_size == 0 ? line_size - 16 : 0;
    return block_size(larger) > block_size(wanted) &&
           block_size(larger) >= block_size(wanted) + most && slab_pages(larger) == 1;
}

/// Offset within a larger block at which a block of class `wanted` begins, so that its payload has
/// the same alignment to lines.
[[nodiscard]] constexpr u64 lead_in(u64 block, u32 wanted) noexcept {
    return block_size(wanted) % line_size != 0 ? 0 : align_up(block, line_size) - block;
}

static_assert(classes_by_size().back() == coarse_classes - 1);
static_assert(block_size(coarse_classes - 1) == largest_block);
static_assert(block_size(block_classes - 1) == 3840);

}  // namespace hf
