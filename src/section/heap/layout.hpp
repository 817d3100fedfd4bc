// section/heap/layout.hpp: how the memory of a group is divided.
//
//   page 1 (offset 64 KiB of the file)                          end of the first segment
//   | table: regions and roots, 2 pages | run | run | run | ... |  further segments: runs only
//
// A page has 64 KiB. A run is one or more pages; it begins with a header and is free, a slab of
// blocks of one size, or one large block:
//
//   slab    | run_header | a bit for each block | pad to 64 | block 0 | block 1 | ...
//   large   | run_header | pad to the alignment | the block ...                     |
//   free    | run_header |   0 pages in the header: all that is left of the segment
//
// Invariants.
//  H1  Runs follow each other without a gap from a segment's first free page to its end. A segment
//      of zeros is one free run.
//  H2  A slab's bit i is set exactly if block i is allocated; bits past the last block are zero.
//  H3  All metadata are changed by `change`, inside a section: a crash takes them back to the cut
//      together with the blocks. So nothing is allocated twice, and nothing is lost.
//
// Segments of the file that hold undo logs (kind log) hold no runs.
#pragma once

#include "base/bits.hpp"
#include "region/layout.hpp"

#include <array>
#include <bit>
#include <cstddef>

namespace hf::section {

inline constexpr layout::room_format section_format{"section", 1};
inline constexpr u64 page_bytes = layout::page_size;

// ------------------------------------------------------------------------------------- the table

inline constexpr unsigned max_regions = 64;
inline constexpr unsigned max_roots = 32;
inline constexpr u64 table_magic = 0x4e4f495443455346U;  // "FSECTION"
inline constexpr u64 table_pages = 2;

/// How the sections of a session are kept atomic.
enum class group_mode : u64 { epoch = 0, graph = 1 };

struct root_entry {
    char name[24];  ///< padded with zeros; empty: the entry is free
    void* value;
};

struct region_entry {
    char name[48];  ///< padded with zeros; empty: the entry is free
    u64 reserved[2];
    std::array<root_entry, max_roots> roots;
};

struct group_table {
    u64 magic;
    u64 address;  ///< at which the file must be mapped
    u64 version;
    u64 mode;          ///< group_mode of the newest session
    char program[64];  ///< that made it; empty: any
    u64 pad[4];
    std::array<region_entry, max_regions> regions;
};
static_assert(sizeof(root_entry) == 32 && sizeof(region_entry) == 64 + 32 * max_roots);
static_assert(sizeof(group_table) <= table_pages * page_bytes);

// --------------------------------------------------------------------------------------- the runs

enum class run_kind : u32 { free = 0, slab = 0x534c4142, large = 0x4c415247 };

struct run_header {
    run_kind kind;
    u16 size_class;  ///< of a slab
    u16 owner;       ///< number of the region
    u64 pages;       ///< 0 in a free run: up to the end of the segment
    u64 payload;     ///< of a large run: offset of the block in the run
    u64 bytes;       ///< of a large run: asked for
    u64 reserved[4];
};
static_assert(sizeof(run_header) == line_size);

// -------------------------------------------------------------------------------------- the sizes

inline constexpr u64 grain = 16;
inline constexpr u64 max_small = 32 * 1024;
/// 16 to 128 by 16, then four a doubling up to 32 KiB.
inline constexpr unsigned size_classes = 8 + 4 * 8;

[[nodiscard]] constexpr u64 class_bytes(unsigned c) noexcept {
    if (c < 8) return (c + 1) * grain;
    const u64 base = u64{128} << ((c - 8) / 4);
    return base + base / 4 * ((c - 8) % 4 + 1);
}
/// Of 1 to max_small bytes.
[[nodiscard]] constexpr unsigned class_of(u64 bytes) noexcept {
    if (bytes <= 128) return static_cast<unsigned>((bytes + grain - 1) / grain) - 1;
    const unsigned doubling = static_cast<unsigned>(std::bit_width(bytes - 1)) - 8;
    const u64 quarter = (u64{128} << doubling) / 4;
    return 8 + 4 * doubling + static_cast<unsigned>((bytes - 1) / quarter) - 4;
}
static_assert(class_bytes(size_classes - 1) == max_small);
static_assert([] {
    for (unsigned c = 0; c < size_classes; ++c) {
        const bool is_last = c + 1 == size_classes;
        if (class_of(class_bytes(c)) != c) return false;
        if (!is_last && class_of(class_bytes(c) + 1) != c + 1) return false;
    }
    return true;
}());

/// A slab has at least 16 blocks, or 8 of the largest.
[[nodiscard]] constexpr u64 slab_pages(unsigned c) noexcept {
    const u64 bytes = class_bytes(c);
    return bytes <= 4096 ? 1 : bytes <= 16 * 1024 ? 4 : 8;
}
/// The places of blocks and their bits: the bits come first, in whole lines.
struct slab_shape {
    u64 first;  ///< offset of block 0 in the run
    u32 blocks;
};
[[nodiscard]] constexpr slab_shape shape_of(unsigned c) noexcept {
    const u64 bytes = class_bytes(c);
    const u64 room = slab_pages(c) * page_bytes - sizeof(run_header);
    u64 blocks = room * 8 / (bytes * 8 + 1);
    for (;; --blocks) {
        const u64 bits = align_up((blocks + 7) / 8, line_size);
        if (bits + blocks * bytes <= room)
            return {sizeof(run_header) + bits, static_cast<u32>(blocks)};
    }
}
inline constexpr auto slab_shapes = [] {
    std::array<slab_shape, size_classes> all{};
    for (unsigned c = 0; c < size_classes; ++c) all[c] = shape_of(c);
    return all;
}();

}  // namespace hf::section
