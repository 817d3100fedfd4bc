// checkpoint/heap/layout.hpp: the bytes of the rolled-back heap in a region.
//
//   heap segment:  | heap_segment 64 | page_descriptor x pages ... | page | page | ...
//                    the header and the descriptors fill the first pages; the rest is allocatable
//   first segment: the pages after its descriptors contain heap_root: the lists of all sets
//
// Everything that changes here is a compact_cell or a logged_group, so all of it rolls back to an
// epoch's start by itself.
#pragma once

#include "alloc/geometry.hpp"
#include "checkpoint/compact_cell.hpp"
#include "checkpoint/logged_cell.hpp"
#include "epoch/lane.hpp"

#include <algorithm>
#include <optional>

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

/// Number of pages for the header and the descriptors of a segment.
[[nodiscard]] constexpr u64 descriptor_pages(u64 pages) noexcept {
    return (sizeof(heap_segment) + pages * sizeof(compact_cell) + page_size - 1) / page_size;
}

/// Pages of a segment with `pages` allocatable pages. One to spare, because the pages of the
/// descriptors have descriptors, too.
[[nodiscard]] constexpr u64 segment_pages_for(u64 pages) noexcept {
    return pages + descriptor_pages(pages) + 1;
}

/// The free lists of one set and one class, in one line.
struct alignas(64) class_lists {
    enum list : unsigned { free = 0, pending = 1, bump = 2 };
    /// For the extents' group, which has no lists: the objects that the set's lanes have added to
    /// the structure in this heap, minus those that they removed; modulo 2^64.
    static constexpr unsigned objects = 0;
    /// free: allocatable blocks; pending: freed in the epoch of the group's stamp (and
    /// perhaps before); bump: | blocks left 16 | offset of the next never used block 48 |.
    logged_group<3> lists;
    /// | blocks allocated minus blocks freed, by this set, now 32 | the same at the epoch's
    /// start 32 |
    std::atomic<u64> live{0};
};
static_assert(sizeof(class_lists) == 64);

/// The layout of a heap's root, from its first words.
struct root_layout {
    u64 sets = 0;  ///< of lists; the first is shared
    class_range classes = class_range::fine;
    u64 lists = 0;     ///< offset in the root: sets x (classes + 1 for extents) x class_lists
    u64 founding = 0;  ///< offset in the root

    /// Number of lists of a set: the last one counts extents.
    [[nodiscard]] constexpr u32 lists_in_set() const noexcept { return classes_in(classes) + 1; }
    [[nodiscard]] constexpr u64 count() const noexcept { return sets * lists_in_set(); }
    [[nodiscard]] constexpr u64 pages() const noexcept {
        return pages_of(std::max(lists + count() * sizeof(class_lists), founding + founding_bytes));
    }
};

/// A root, the lists of its sets, and `founding`: space in which the structure in this heap places
/// its first node before the first epoch; it is on no list, never freed, and so never rolled
/// back by the heap.
///
///   format 1   magic | lists of 256 sets, of the coarse classes | founding
///   format 2   magic, sets | founding | lists of that many sets, of all classes
///
/// There are fewer sets than lanes if all of them would take much of the region; lanes then
/// share one (list_heap.hpp).
struct alignas(64) heap_root {
    static constexpr u64 magic_1 = 0x4846484541500001;  // "HFHEAP", format 1
    static constexpr u64 magic_2 = 0x4846484541500002;
    /// The same formats, in heaps whose blocks may have been allocated for smaller payloads.
    static constexpr u64 magic_1_with_stand_ins = 0x4846484541505354;  // "HFHEAPST"
    static constexpr u64 magic_2_with_stand_ins = 0x4846484541505355;

    u64 magic;
    u64 set_count;       ///< format 2: sets in bits 31-0, their complement above
    u64 counts_objects;  ///< 1: the sets' counts of objects are valid; 0: not maintained so far
    u64 reserved[5];

    /// For a heap of `sets` sets, in today's format.
    [[nodiscard]] static constexpr root_layout layout_2(u64 sets) noexcept {
        return {sets, class_range::fine, sizeof(heap_root) + founding_bytes, sizeof(heap_root)};
    }
    [[nodiscard]] static constexpr root_layout layout_1() noexcept {
        constexpr u64 list_bytes = max_lanes * (coarse_classes + 1) * sizeof(class_lists);
        return {max_lanes, class_range::coarse, sizeof(heap_root), sizeof(heap_root) + list_bytes};
    }
    [[nodiscard]] bool is_format_1() const noexcept {
        return magic == magic_1 || magic == magic_1_with_stand_ins;
    }
    [[nodiscard]] bool has_stand_ins() const noexcept {
        return magic == magic_1_with_stand_ins || magic == magic_2_with_stand_ins;
    }
    /// The layout by the second word, ignoring the magic number; nullopt: damaged.
    [[nodiscard]] std::optional<root_layout> probable_layout() const noexcept {
        if (set_count == 0) return layout_1();
        const u64 sets = set_count & 0xffffffff;
        if (set_count != pack_sets(sets) || sets < 2 || sets > max_lanes) return std::nullopt;
        return layout_2(sets);
    }
    /// nullopt: damaged.
    [[nodiscard]] std::optional<root_layout> layout() const noexcept {
        const bool is_format_2 = magic == magic_2 || magic == magic_2_with_stand_ins;
        const bool is_whole = set_count == 0 ? is_format_1() : is_format_2;
        return is_whole ? probable_layout() : std::nullopt;
    }
    [[nodiscard]] static constexpr u64 pack_sets(u64 sets) noexcept { return ~sets << 32 | sets; }
    [[nodiscard]] class_lists* lists(const root_layout& of) noexcept {
        return reinterpret_cast<class_lists*>(reinterpret_cast<std::byte*>(this) + of.lists);
    }
    [[nodiscard]] const class_lists* lists(const root_layout& of) const noexcept {
        return reinterpret_cast<const class_lists*>(reinterpret_cast<const std::byte*>(this) +
                                                    of.lists);
    }
};
static_assert(sizeof(heap_root) == 64);
static_assert(heap_root::layout_1().pages() == 12);

/// Pages of a root with a set for each lane.
inline constexpr u64 most_root_pages = heap_root::layout_2(max_lanes).pages();

/// For a new heap: at most a 1024th of the region's maximum number of pages, and an eighth of its
/// first segment.
[[nodiscard]] constexpr root_layout layout_for(u64 most_pages, u64 segment_pages) noexcept {
    const u64 pages =
        std::clamp<u64>(std::min(most_pages / 1024, segment_pages / 8), 1, most_root_pages);
    const root_layout one = heap_root::layout_2(1);
    const u64 sets = (pages * page_size - one.lists) / (one.lists_in_set() * sizeof(class_lists));
    return heap_root::layout_2(std::min<u64>(sets, max_lanes));
}
static_assert(layout_for(1, 1).sets > 8 && layout_for(1, 1).pages() == 1);

}  // namespace hf
