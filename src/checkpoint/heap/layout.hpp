// checkpoint/heap/layout.hpp: every struct that the rolled-back heap lays into a region.
//
//   heap segment:  | heap_segment 64 | page_descriptor x pages ... | page | page | ...
//                    the header and the descriptors fill the first pages; the rest is handed out
//   first segment: the pages behind its descriptors hold heap_root: the lists of all lanes
//
// Everything that changes here is a compact_cell or a logged_group, so all of it rolls back to an
// epoch's start by itself.
#pragma once

#include "alloc/geometry.hpp"
#include "checkpoint/compact_cell.hpp"
#include "checkpoint/logged_cell.hpp"
#include "epoch/lane.hpp"

#include <array>

namespace hf {

inline constexpr u64 founding_bytes = 1024;

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

/// A segment of so many pages can hand out `pages` of them. One to spare: the pages that the
/// descriptors take have descriptors, too.
[[nodiscard]] constexpr u64 segment_pages_for(u64 pages) noexcept {
    return pages + descriptor_pages(pages) + 1;
}

/// The free lists of one lane and one class, in one line.
struct alignas(64) class_lists {
    enum list : unsigned { free = 0, pending = 1, bump = 2 };
    /// Of the extents, which have no lists: objects that the lane has put into the structure that
    /// lives in this heap, less those that it took out; modulo 2^64.
    static constexpr unsigned objects = 0;
    /// free: blocks that may be handed out; pending: freed in the epoch of the group's stamp (and
    /// perhaps before); bump: | blocks left 16 | offset of the next never used block 48 |.
    logged_group<3> lists;
    /// | blocks handed out less blocks taken back, by this lane, now 32 | the same at the epoch's
    /// start 32 |
    std::atomic<u64> live{0};
};
static_assert(sizeof(class_lists) == 64);

struct lane_lists {
    std::array<class_lists, accounted_classes> classes;
};

struct heap_root {
    static constexpr u64 magic_value = 0x4846484541500001;  // "HFHEAP", version 1
    /// The same, and there may be blocks that are handed out for smaller payloads. Programs that
    /// know nothing of them refuse it.
    static constexpr u64 magic_with_stand_ins = 0x4846484541505354;  // "HFHEAPST"
    u64 magic;
    u64 counts_objects;  ///< 1: the lanes' counts of objects are right; 0: they begin somewhere
    u64 reserved[6];
    [[nodiscard]] bool is_whole() const noexcept {
        return magic == magic_value || magic == magic_with_stand_ins;
    }
    /// Lane 0 holds the shared lists.
    std::array<lane_lists, max_lanes> lanes;
    /// Where the structure that lives in this heap lays what its root leads to, before the first
    /// epoch: on no list, never freed, and so never rolled back by the heap.
    alignas(64) std::byte founding[founding_bytes];
};
static_assert(offsetof(heap_root, lanes) == 64);
static_assert(offsetof(heap_root, founding) == 64 + sizeof(lane_lists) * max_lanes);

inline constexpr u64 heap_root_pages = (sizeof(heap_root) + page_size - 1) / page_size;

}  // namespace hf
