// geometry.hpp: the division of a heap's segments, common to all policies.
//
// Purpose. One geometry, several policies. A segment of kind heap is divided into pages of 64 KiB:
//
//   heap segment:  | header, a descriptor for each page | page | page | page | ...
//                    the heap's own first pages           runs of pages: slabs, extents, free ones
//
// A page's descriptor tells the kind of run that begins there; the policy defines its encoding.
// Segments are contiguous in the file, and each begins with pages of the heap's own. So free
// runs of two segments are never adjacent.
//
// A policy defines how a descriptor is stored and changed, and how free blocks of a
// slab are found. It provides its descriptors as a `descriptor_reader`, and its data to the
// audit as an `audit_view` (audit.hpp).
//
//   policy        durable state                             where
//   rolled back   free lists, with an epoch                 checkpoint/heap/
//   committed     a bit for each block, with a commit       alloc/committed/
//   swept         only each slab's class                    alloc/swept/: free blocks are
//                 found by tracing from the roots after a crash
#pragma once

#include "alloc/size_class.hpp"
#include "region/region.hpp"

#include <concepts>

namespace hf {

///  1  few classes (size_class.hpp)
///  2  all. A heap of format 1 stays one, although its region's version is 2.
inline constexpr layout::room_format alloc_format{"alloc", 2};

enum class page_use : u8 {
    free = 0,    ///< `pages` pages from here are free; 0 pages means 1
    slab = 1,    ///< a slab of blocks of `size_class`
    extent = 2,  ///< one large payload
    system = 3,  ///< the heap's own pages
};

/// The contents of a page descriptor (44 bits); meaningful at the first page of a run only.
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

/// A heap segment, as stored in a heap object.
struct heap_span {
    u64 offset;  ///< of the segment
    u64 pages;

    [[nodiscard]] bool contains(u64 o) const noexcept {
        return o - offset < pages * page_size;  // a smaller o wraps around to a large number
    }
    [[nodiscard]] u64 page_of(u64 o) const noexcept { return (o - offset) / page_size; }
    [[nodiscard]] u64 offset_of(u64 page) const noexcept { return offset + page * page_size; }
};

/// Reads a policy's descriptors: the run that begins at a page, and the pages of a segment
/// that can contain runs.
template <class R>
concept descriptor_reader = requires(const R& r, const heap_span& s, u64 page) {
    { r.first_page(s) } -> std::same_as<u64>;
    { r.end_page(s) } -> std::same_as<u64>;
    { r.run_at(s, page) } -> std::same_as<page_run>;
};

/// Visits every run of a segment in order: visit(page, run). Stops when that returns false.
template <descriptor_reader R, class Visit>
bool walk_runs(const R& reader, const heap_span& s, Visit&& visit) {
    const u64 end = reader.end_page(s);
    for (u64 page = reader.first_page(s); page < end;) {
        const page_run run = reader.run_at(s, page);
        if (!visit(page, run)) return false;
        page += run.pages;
    }
    return true;
}

/// True if a run of slab, extent or free pages can begin with `room` pages left.
[[nodiscard]] bool is_possible(const page_run& run, u64 room,
                               class_range classes = class_range::fine) noexcept;

inline constexpr u64 min_growth_pages = (u64{64} << 20) / page_size;
inline constexpr u64 max_growth_pages = (u64{4} << 30) / page_size;

/// Pages that the heap leaves free for undo logs, in a region of at most `most_pages` pages: a heap
/// without any could not be changed. A 256th, at least a page for a thread and one for all
/// others. One page is a short log: when it is full, the epoch ends
/// early and it restarts.
[[nodiscard]] constexpr u64 kept_from_heap(u64 most_pages) noexcept {
    return std::min(most_pages / 2, std::max<u64>(most_pages / 256, 2));
}

/// Pages that the heap leaves free for second slots (transaction/shadow_slots.hpp), in a region
/// that has some and may have `max_pages` pages: a full heap without any could not be changed. A
/// 32nd, at least 8 pages, of a small region an eighth, but never less than the first segment's 2.
[[nodiscard]] constexpr u64 kept_for_slots(u64 max_pages) noexcept {
    return std::clamp<u64>(max_pages / 8, 2, std::max<u64>(max_pages / 32, 8));
}
/// Pages of kept_for_slots() that slots have not taken yet. 0 in a region without slots.
[[nodiscard]] u64 pages_kept_for_slots(const region& r);
/// Pages by which the region may grow for second slots: all but those kept for logs.
[[nodiscard]] u64 pages_left_for_slots(const region& r);

/// Whether a log leaves half of the reserve to lanes that have no log yet. all: for an entry that
/// would find no room otherwise.
enum class log_share { fair, all };

/// The part of these pages that the log of lane `owner` may still take. Half is for lanes without a
/// log, since one with a log can restart it in the next epoch. The last page is for lane 0,
/// whose log serves lanes that come too late for one of their own.
[[nodiscard]] u64 pages_left_for_log(const region& r, u16 owner, log_share share = log_share::fair);

/// Initial size of a region, whose first segment is all heap. `bytes`: the requested size;
/// `max_size`: as in region_options. A larger request is returned unchanged, to be refused. A
/// smaller one becomes `least`, if the maximum allows it.
[[nodiscard]] u64 first_size(u64 bytes, u64 max_size, u64 least = 0) noexcept;
/// As first_size(), for a region that will have second slots: leaves room for those kept.
[[nodiscard]] u64 first_size_beside_slots(u64 bytes, u64 max_size) noexcept;

/// Adds a heap segment: an eighth of the region (at least 64 MiB, at most 4 GiB), or as much as
/// possible, at least `least` pages. errc::no_space: not even these.
[[nodiscard]] result<segment> grow_heap(region& r, u64 least);

/// The error for a heap with impossible contents.
[[nodiscard]] error corrupt_heap(const region& r, u64 offset, std::string why);

}  // namespace hf
