#include "alloc/swept/audit_view.hpp"

namespace hf::swept {

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

void view::check_run(const segment& s, u64 page, const page_run& run, audit_report& report) {
    const heap_span span{s.offset, s.pages};
    for (u64 i = 1; i < run.pages; ++i) {
        const u64 at = swept::descriptor_of(span, page + i);
        if (region_.at<word>(at)->load(std::memory_order_acquire) == 0) continue;
        report.add(at, "a run begins inside of another");
    }
    if (run.use == page_use::system) {
        report.add(span.offset_of(page), "a run of the heap's own pages where none belongs");
    }
    if (run.use == page_use::extent) report.heap.extent_pages_handed_out += run.pages;
}

void view::read_free(heap_audit& audit) {
    if (live_ == nullptr) return;
    live_->each_free(caches_, [&](u64 offset) {
        const auto place = audit.locate(offset, 0);
        if (!place) {
            audit.report().add(offset, "a list of free blocks has what is no block");
        } else if (audit.state_of(*place) != block_state::unseen) {
            audit.report().add(offset, "a block is free twice");
        } else {
            ++audit.report().heap.classes[audit.class_of(*place)].free;
            audit.set_free(*place, block_state::free);
        }
    });
}

const char* view::name_of(block_state s) const {
    return s == block_state::free ? "in a list of free blocks" : "unknown";
}

}  // namespace hf::swept
