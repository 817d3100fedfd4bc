// alloc/committed/layout.hpp: the bytes of a committed heap in a region.
//
//   heap segment:
//   | header 64 | a word a page ... | 32 words a page ... | page | page | page ...
//                 run that begins     the slab's blocks
//
// A page's word is 0 if nothing begins there: a free page, or one inside of a run. So a free run
// has no descriptor of its own, and no word has to change when runs are split or joined; and a
// segment of zeros is an empty one.
//
// A slab's bits: bit i of its first page's 32 words is 1 if block i is allocated. 32 words are
// the bits of a page of the smallest blocks.
#pragma once

#include "alloc/geometry.hpp"

#include <atomic>

namespace hf::committed {

using word = std::atomic<u64>;

inline constexpr u64 bit_words = page_size / block_size(0) / 64;

struct alignas(line_size) segment_header {
    static constexpr u64 magic_value = 0x48464845434d0001;  // "HFHECM", version 1
    word magic;
    u64 first_usable;  ///< page index in the segment
    u64 reserved[6];
};
static_assert(sizeof(segment_header) == line_size);

[[nodiscard]] constexpr u64 first_bits(u64 pages) noexcept {
    return sizeof(segment_header) + align_up(8 * pages, line_size);
}
/// Bytes of a segment of `pages` pages that cannot be allocated.
[[nodiscard]] constexpr u64 own_bytes(u64 pages) noexcept {
    return first_bits(pages) + pages * bit_words * 8;
}
[[nodiscard]] constexpr u64 own_pages(u64 pages) noexcept { return pages_of(own_bytes(pages)); }
/// Pages of the smallest segment with `pages` allocatable pages.
[[nodiscard]] constexpr u64 pages_around(u64 pages) noexcept {
    u64 all = pages + own_pages(pages);
    while (all - own_pages(all) < pages) ++all;
    return all;
}

/// Offset of the word of a page.
[[nodiscard]] constexpr u64 descriptor_of(const heap_span& s, u64 page) noexcept {
    return s.offset + sizeof(segment_header) + 8 * page;
}
/// Offset of the words of a slab's blocks.
[[nodiscard]] constexpr u64 bits_of(const heap_span& s, u64 page) noexcept {
    return s.offset + first_bits(s.pages) + page * bit_words * 8;
}

static_assert(slab_blocks(0) == bit_words * 64);  // no class has more

/// The descriptors of a region's segments (geometry.hpp, descriptor_reader).
struct descriptors {
    const region& store;

    [[nodiscard]] u64 first_page(const heap_span& s) const noexcept { return own_pages(s.pages); }
    [[nodiscard]] u64 end_page(const heap_span& s) const noexcept { return s.pages; }
    /// A free run extends to the next page where something begins.
    [[nodiscard]] page_run run_at(const heap_span& s, u64 page) const noexcept {
        const u64 value = read(s, page);
        if (value != 0) return page_run::unpack(value);
        u64 end = page + 1;
        while (end < s.pages && read(s, end) == 0) ++end;
        return {page_use::free, 0, end - page};
    }
    [[nodiscard]] u64 read(const heap_span& s, u64 page) const noexcept {
        return store.at<word>(descriptor_of(s, page))->load(std::memory_order_acquire);
    }
};
static_assert(descriptor_reader<descriptors>);

}  // namespace hf::committed
