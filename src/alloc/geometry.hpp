// geometry.hpp: how a heap divides its segments, whatever makes it durable.
//
// Purpose. One geometry, several policies. A segment of kind heap is cut into pages of 64 KiB:
//
//   heap segment:  | header, a descriptor for each page | page | page | page | ...
//                    the heap's own first pages           runs of pages: slabs, extents, free ones
//
// A page's descriptor says what the run that begins there is; the words between are the policy's.
// Segments follow each other in the file, and each begins with pages of the heap's own: so free
// runs of two segments never touch.
//
// What is the policy's: how a descriptor is kept and changed, and how it is known which blocks of a
// slab are free. A policy shows its descriptors as a `descriptor_reader`, and its books to the
// audit as an `audit_view` (audit.hpp).
//
//   policy        durable are                               where
//   rolled back   free lists, with an epoch                 checkpoint/heap/
//   committed     a bit for each block, with a commit       alloc/committed/
//   swept         nothing but each slab's class             alloc/swept/: which blocks are free is
//                 found by tracing from the roots after a crash
#pragma once

#include "alloc/size_class.hpp"
#include "region/region.hpp"

#include <concepts>

namespace hf {

///  1  few classes (size_class.hpp)
///  2  all. A heap that is of format 1 stays one, in a region that says 2.
inline constexpr layout::room_format alloc_format{"alloc", 2};

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

/// A heap segment, as a heap remembers it.
struct heap_span {
    u64 offset;  ///< of the segment
    u64 pages;

    [[nodiscard]] bool contains(u64 o) const noexcept {
        return o - offset < pages * page_size;  // what lies before is far beyond, unsigned
    }
    [[nodiscard]] u64 page_of(u64 o) const noexcept { return (o - offset) / page_size; }
    [[nodiscard]] u64 offset_of(u64 page) const noexcept { return offset + page * page_size; }
};

/// How a policy's descriptors are read: the run that begins at a page, and the pages of a segment
/// that runs can lie in.
template <class R>
concept descriptor_reader = requires(const R& r, const heap_span& s, u64 page) {
    { r.first_page(s) } -> std::same_as<u64>;
    { r.end_page(s) } -> std::same_as<u64>;
    { r.run_at(s, page) } -> std::same_as<page_run>;
};

/// Meets every run of a segment in order: visit(page, run). Stops when that returns false.
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

/// Whether a run of slab, extent or free pages can begin where `room` pages are left.
[[nodiscard]] bool is_possible(const page_run& run, u64 room,
                               class_range classes = class_range::fine) noexcept;

inline constexpr u64 min_growth_pages = (u64{64} << 20) / page_size;
inline constexpr u64 max_growth_pages = (u64{4} << 30) / page_size;

/// Of a region that may have so many pages, those that its heap leaves to what is written to undo
/// changes: a heap that took every page could not be changed any more. A 256th, and at least
/// a page for a thread and one for all others. A page is a log, if a short one: where it runs full
/// an epoch ends early, and it begins anew.
[[nodiscard]] constexpr u64 kept_from_heap(u64 most_pages) noexcept {
    return std::min(most_pages / 2, std::max<u64>(most_pages / 256, 2));
}

/// Whether a log leaves half of what is kept for logs to lanes that have none yet. all: for an
/// entry that would find no room otherwise.
enum class log_share { fair, all };

/// Of these, how many the log of lane `owner` may still take. Half are for lanes that have none
/// yet: one that has can begin anew with the next epoch. And the last page is for lane 0, whose log
/// serves those that came too late for one of their own.
[[nodiscard]] u64 pages_left_for_log(const region& r, u16 owner, log_share share = log_share::fair);

/// What a region should begin with, for its first segment is all heap. `bytes`: what is wanted;
/// `max_size`: as in region_options. More than that is left to be refused.
[[nodiscard]] u64 first_size(u64 bytes, u64 max_size) noexcept;

/// A new heap segment: an eighth of the region (at least 64 MiB, at most 4 GiB), or as much as can
/// be had, which is at least `least` pages. errc::no_space: not even these.
[[nodiscard]] result<segment> grow_heap(region& r, u64 least);

/// A heap that cannot be what it was made as.
[[nodiscard]] error corrupt_heap(const region& r, u64 offset, std::string why);

}  // namespace hf
