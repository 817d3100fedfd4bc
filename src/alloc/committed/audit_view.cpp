#include "alloc/committed/audit_view.hpp"

#include <algorithm>

namespace hf::committed {

std::optional<audit_view::bounds> view::look_at(const segment& s, bool, audit_report& report) {
    const auto& h = *region_.at<segment_header>(s.offset);
    const u64 magic = h.magic.load(std::memory_order_acquire);
    const u64 first = own_pages(s.pages);
    // Without a magic number: the process died after the growth.
    const bool is_damaged =
        magic != 0 && (magic != segment_header::magic_value || h.first_usable != first);
    if (is_damaged || first >= s.pages) {
        report.add(s.offset, "the header of a heap segment is damaged");
        report.mark_incomplete();
        return std::nullopt;
    }
    return bounds{first, s.pages};
}

u64 view::descriptor_of(const segment& s, u64 page) const {
    return committed::descriptor_of({s.offset, s.pages}, page);
}

page_run view::run_at(const segment& s, u64 page) const {
    return descriptors{region_}.run_at({s.offset, s.pages}, page);
}

void view::check_run(const segment& s, u64 page, const page_run& run, audit_report& report) {
    const heap_span span{s.offset, s.pages};
    for (u64 i = 0; i < run.pages; ++i) {
        const u64 at = committed::descriptor_of(span, page + i);
        if (i > 0 && read(at) != 0) report.add(at, "a run begins inside of another");
        const bool is_slab = run.use == page_use::slab && i == 0;
        check_bits(span, page + i, is_slab ? slab_blocks(run.size_class) : 0, report);
    }
    if (run.use == page_use::system) {
        report.add(span.offset_of(page), "a run of the heap's own pages where none belongs");
    }
    if (run.use == page_use::extent) report.heap.extent_pages_handed_out += run.pages;
}

/// Checks M5: bits only of existing blocks.
void view::check_bits(const heap_span& s, u64 page, u32 used, audit_report& report) const {
    for (u64 w = 0; w < bit_words; ++w) {
        const u64 at = bits_of(s, page) + 8 * w;
        const u64 here = used - std::min<u64>(used, 64 * w);
        const u64 may_be = here >= 64 ? ~u64{0} : ~(~u64{0} << here);
        if ((read(at) & ~may_be) == 0) continue;
        report.add(at, "blocks are marked as handed out where there are none");
        return;
    }
}

u64 view::bits_at(u64 slab) const noexcept {
    for (const segment& s : region_.segments()) {
        const heap_span span{s.offset, s.pages};
        if (span.contains(slab)) return bits_of(span, span.page_of(slab));
    }
    return 0;
}

void view::read_free(heap_audit& audit) {
    audit.each_slab([&](u64 offset, const page_run& run) {
        auto& figures = audit.report().heap.classes[run.size_class];
        const u64 bits = bits_at(offset);
        auto place = *audit.locate(offset, 0);
        for (place.block = 0; place.block < slab_blocks(run.size_class); ++place.block) {
            const u64 bit = u64{1} << (place.block % 64);
            if ((read(bits + place.block / 64 * 8) & bit) != 0) {
                ++figures.handed_out;
            } else {
                ++figures.free;
                audit.set_free(place, block_state::free);
            }
        }
    });
}

void view::read_counters(heap_audit& audit) {
    audit.each_slab([&](u64 offset, const page_run& run) {
        const u64 bits = bits_at(offset);
        for (u64 w = 0; w < bit_words; ++w) {
            audit.report().heap.classes[run.size_class].handed_out +=
                static_cast<u64>(std::popcount(read(bits + 8 * w)));
        }
    });
}

const char* view::name_of(block_state s) const {
    return s == block_state::free ? "free by its slab's bits" : "unknown";
}

}  // namespace hf::committed
