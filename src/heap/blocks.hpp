// heap/blocks.hpp: enumerates the allocated blocks of a committed heap, from the medium.
// No thread may be changing them.
#pragma once

#include "alloc/committed/layout.hpp"

#include <bit>

namespace hf::nv {

/// visit(offset, size), by ascending offset within a segment.
template <class Visit>
void each_block(const region& r, Visit&& visit) {
    const committed::descriptors books{r};
    for (const segment& s : r.segments()) {
        if (s.kind != segment_kind::heap) continue;
        const heap_span span{s.offset, s.pages};
        for (u64 page = books.first_page(span); page < span.pages;) {
            const page_run run = books.run_at(span, page);
            if (run.use == page_use::extent) {
                visit(span.offset_of(page), run.pages * page_size);
            } else if (run.use == page_use::slab && run.size_class < block_classes) {
                const u64 bits = committed::bits_of(span, page);
                const u32 blocks = slab_blocks(run.size_class);
                for (u32 w = 0; w < (blocks + 63) / 64; ++w) {
                    u64 word =
                        r.at<committed::word>(bits + 8 * u64{w})->load(std::memory_order_acquire);
                    for (; word != 0; word &= word - 1) {
                        const u64 block = 64 * u64{w} + static_cast<u64>(std::countr_zero(word));
                        if (block >= blocks) break;
                        visit(span.offset_of(page) + block * block_size(run.size_class),
                              u64{block_size(run.size_class)});
                    }
                }
            }
            page += run.use == page_use::slab && run.size_class < block_classes
                        ? slab_pages(run.size_class)
                        : std::max<u64>(run.pages, 1);
        }
    }
}

}  // namespace hf::nv
