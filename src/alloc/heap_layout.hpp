// heap_layout.hpp: every struct that the allocator lays into a region.
//
//   heap segment:  | heap_segment 64 | page_descriptor x pages ... | page | page | ...
//                    the header and the descriptors fill the first pages; the rest is handed out
//   first segment: the pages behind its descriptors hold heap_root: the lists of all lanes
//
// Everything that changes here is a compact_cell or a logged_group, so all of it rolls back to an
// epoch's start by itself.
#pragma once

#include "alloc/size_class.hpp"
#include "checkpoint/compact_cell.hpp"
#include "checkpoint/lane.hpp"
#include "checkpoint/logged_cell.hpp"

namespace hf {

inline constexpr layout::room_format alloc_format{"alloc", 1};

inline constexpr u64 founding_bytes = 1024;

enum class page_use : u8 {
    free = 0,    ///< `pages` pages from here are free; 0 pages means 1
    slab = 1,    ///< a slab of blocks of `size_class`
    extent = 2,  ///< one large payload
    system = 3,  ///< the heap's own
};

/// What a page descriptor's 44-bit value says; meaningful at the first page of a run only.
struct page_run {
    page_use use = page_use::free;
    u32 size_class = 0;
    u64 pages = 1;

    [[nodiscard]] u64 pack() const noexcept {
        return (static_cast<u64>(use) << 40) | (static_cast<u64>(size_class) << 32) | pages;
    }
    [[nodiscard]] static page_run unpack(u64 value) noexcept {
        const u64 pages = value & 0xffffffff;
        return {static_cast<page_use>((value >> 40) & 0xf), static_cast<u32>((value >> 32) & 0xff),
                pages == 0 ? 1 : pages};
    }
};

struct alignas(64) heap_segment {
    static constexpr u64 magic_value = 0x48465345474d4e54;  // "HFSEGMNT"
    u64 magic;
    u64 first_usable;      ///< page index in the segment
    logged_cell frontier;  ///< pages from here on were never used
    u64 reserved[3];

    [[nodiscard]] compact_cell* descriptors() noexcept {
        return reinterpret_cast<compact_cell*>(this + 1);
    }
};
static_assert(sizeof(heap_segment) == 64);

/// Pages that the header and the descriptors of a segment take.
[[nodiscard]] constexpr u64 descriptor_pages(u64 pages) noexcept {
    return (sizeof(heap_segment) + pages * sizeof(compact_cell) + page_size - 1) / page_size;
}

/// The free lists of one lane and one class, in one line.
struct alignas(64) class_lists {
    enum list : unsigned { free = 0, pending = 1, bump = 2 };
    /// free: blocks that may be handed out; pending: freed in the epoch of the group's stamp (and
    /// perhaps before); bump: | blocks left 16 | offset of the next never used block 48 |.
    logged_group<3> lists;
    /// | blocks handed out less blocks taken back, by this lane, now 32 | the same at the epoch's
    /// start 32 |
    std::atomic<u64> live{0};
};
static_assert(sizeof(class_lists) == 64);

struct lane_lists {
    class_lists classes[accounted_classes];
};

struct heap_root {
    static constexpr u64 magic_value = 0x4846484541500001;  // "HFHEAP", version 1
    u64 magic;
    u64 reserved[7];
    /// Lane 0 holds the shared lists.
    lane_lists lanes[max_lanes];
    /// Where the structure that lives in this heap lays what its root leads to, before the first
    /// epoch: on no list, never freed, and so never rolled back by the heap.
    alignas(64) std::byte founding[founding_bytes];
};
static_assert(offsetof(heap_root, lanes) == 64);
static_assert(offsetof(heap_root, founding) == 64 + sizeof(lane_lists) * max_lanes);

inline constexpr u64 heap_root_pages = (sizeof(heap_root) + page_size - 1) / page_size;

}  // namespace hf
