#include "alloc/audit.hpp"

#include <algorithm>
#include <utility>

namespace hf {

namespace {

std::string text_of(u64 n) { return std::to_string(n); }

}  // namespace

// ------------------------------------------------------------------------------------------ report

u64 heap_figures::handed_out_bytes() const noexcept {
    u64 bytes = extent_pages_handed_out * page_size;
    for (u32 c = 0; c < block_classes; ++c) bytes += classes[c].handed_out * block_size(c);
    return bytes;
}

u64 heap_figures::idle_slab_bytes() const noexcept {
    u64 used = 0;
    for (u32 c = 0; c < block_classes; ++c) used += classes[c].handed_out * block_size(c);
    return slab_pages * page_size - std::min(used, slab_pages * page_size);
}

void audit_report::add(u64 offset, std::string text) {
    ++count_;
    if (kept_.size() < most_kept) kept_.push_back({offset, std::move(text)});
}

std::string audit_report::to_string() const {
    std::string all;
    for (const violation& v : kept_) all += "offset " + text_of(v.offset) + ": " + v.text + "\n";
    if (count_ > kept_.size()) all += "and " + text_of(count_ - kept_.size()) + " more\n";
    return all;
}

// ------------------------------------------------------------------------------------------- runs

const char* heap_audit::name_of(block_state s) const {
    return s == block_state::claimed ? "owned by another reference" : view_.name_of(s);
}

void heap_audit::read_runs() {
    for (const segment& s : region_.segments()) {
        if (s.kind == segment_kind::heap) read_segment(s, report_.heap.segments == 0);
    }
    if (report_.heap.segments == 0) report_.add(0, "the region has no heap segment");
    states_.assign((blocks_ + 3) / 4, 0);
}

void heap_audit::read_segment(const segment& s, bool first) {
    span& mine = spans_.emplace_back(span{s.offset, s.pages, s.pages, {}});
    mine.run_of_page.assign(s.pages, no_run);
    ++report_.heap.segments;
    report_.heap.pages += s.pages;
    const auto in = view_.look_at(s, first, report_);
    if (!in) return;
    mine.first_page = in->first;
    report_.heap.system_pages += in->first;
    report_.heap.untouched_pages += s.pages - in->end;
    if (in->end < s.pages) {
        report_.heap.free_runs_at.push_back({s.offset + in->end * page_size, s.pages - in->end});
    }
    for (u64 page = in->first; page < in->end;) {
        const auto what = read_run(s, page, in->end);
        if (!what) {
            report_.mark_incomplete();
            return;
        }
        add_run(mine, page, *what);
        view_.check_run(s, page, *what, report_);
        page += what->pages;
    }
}

/// A run that is possible at its position; nullopt (and a violation) otherwise.
std::optional<page_run> heap_audit::read_run(const segment& s, u64 page, u64 end) {
    const page_run what = view_.run_at(s, page);
    const auto bad = [&](const std::string& why) -> std::optional<page_run> {
        report_.add(view_.descriptor_of(s, page), "the descriptor of page " + text_of(page) + " " +
                                                      why +
                                                      "; the rest of the segment cannot be walked");
        return std::nullopt;
    };
    if (what.use > page_use::system) {
        return bad("has the unknown use " + text_of(static_cast<u64>(what.use)));
    }
    if (what.pages > end - page) {
        return bad("claims " + text_of(what.pages) + " pages, more than there are");
    }
    if (what.use == page_use::slab) {
        if (what.size_class >= block_classes) {
            return bad("has the unknown size class " + text_of(what.size_class));
        }
        if (what.pages != hf::slab_pages(what.size_class)) {
            return bad("says that a slab of " + text_of(block_size(what.size_class)) +
                       "-byte blocks has " + text_of(what.pages) + " pages");
        }
    }
    return what;
}

void heap_audit::add_run(span& s, u64 page, const page_run& what) {
    const u64 offset = s.offset + page * page_size;
    heap_figures& figures = report_.heap;
    switch (what.use) {
        case page_use::free:
            ++figures.free_runs;
            figures.free_pages += what.pages;
            figures.largest_free_run = std::max(figures.largest_free_run, what.pages);
            figures.free_runs_at.push_back({offset, what.pages});
            break;
        case page_use::slab:
            figures.slab_pages += what.pages;
            figures.classes[what.size_class].slabs += 1;
            figures.classes[what.size_class].blocks += slab_blocks(what.size_class);
            break;
        case page_use::extent:
            ++figures.extents;
            figures.extent_pages += what.pages;
            break;
        case page_use::system:
            figures.system_pages += what.pages;
            break;
    }
    const auto index = static_cast<u32>(runs_.size());
    std::fill_n(s.run_of_page.begin() + static_cast<std::ptrdiff_t>(page), what.pages, index);
    runs_.push_back({offset, what, blocks_});
    blocks_ += what.use == page_use::slab ? slab_blocks(what.size_class) : 1;
}

const heap_audit::span* heap_audit::span_of(u64 offset) const noexcept {
    const auto it = std::upper_bound(spans_.begin(), spans_.end(), offset,
                                     [](u64 o, const span& s) { return o < s.offset; });
    const span& s = *std::prev(it);  // spans_ begins with an empty one at 0
    return offset - s.offset < s.pages * page_size ? &s : nullptr;
}

bool heap_audit::is_unknown(u64 offset) const noexcept {
    const span* s = span_of(offset);
    if (s == nullptr || report_.complete()) return false;
    const u64 page = (offset - s->offset) / page_size;
    return page >= s->first_page && s->run_of_page[page] == no_run;
}

std::optional<heap_audit::place> heap_audit::locate(u64 payload_offset, u64 header) const noexcept {
    const span* s = span_of(payload_offset);
    if (s == nullptr) return std::nullopt;
    const u32 index = s->run_of_page[(payload_offset - s->offset) / page_size];
    if (index == no_run) return std::nullopt;
    const run& r = runs_[index];
    // Wraps around if the header would begin before the run: then it is not a block.
    const u64 in_run = payload_offset - header - r.offset;
    if (r.what.use == page_use::extent) {
        if (in_run != 0) return std::nullopt;
        return place{payload_offset, r.what.pages * page_size - header, index, 0, 0, true};
    }
    if (r.what.use == page_use::system) {
        const auto founding = view_.founding();
        if (!founding || payload_offset != founding->offset + header) return std::nullopt;
        return place{payload_offset, founding->bytes - header, index, 0, 0, false};
    }
    if (r.what.use != page_use::slab) return std::nullopt;
    const u32 size = block_size(r.what.size_class);
    if (in_run % size != 0 || in_run / size >= slab_blocks(r.what.size_class)) return std::nullopt;
    return place{payload_offset, size - header, index, static_cast<u32>(in_run / size), 0, false};
}

std::optional<heap_audit::place> heap_audit::locate_payload(u64 offset) const noexcept {
    auto p = locate(offset);
    if (p || !larger_stand_in_) return p;
    const span* s = span_of(offset);
    const u32 index = s == nullptr ? no_run : s->run_of_page[(offset - s->offset) / page_size];
    if (index == no_run || runs_[index].what.use != page_use::slab) return std::nullopt;
    const u64 in_run = offset - block_header_size - runs_[index].offset;
    const u32 lead = static_cast<u32>(in_run % block_size(runs_[index].what.size_class));
    if (lead >= line_size || (offset - block_header_size) % line_size != 0) return std::nullopt;
    p = locate(offset - lead);
    if (!p) return std::nullopt;
    p->payload += lead;
    p->room -= std::min<u64>(p->room, lead);
    p->lead = lead;
    return p;
}

bool heap_audit::fits(const place& p, u64 payload, u64 header) const noexcept {
    if (payload > p.room) return false;
    const page_run& what = runs_[p.run].what;
    if (what.use == page_use::system) return true;
    const u64 bytes = payload + header;
    if (p.extent) return bytes > largest_block && pages_of(bytes) == what.pages;
    const u32 wanted = class_of_block(bytes, classes_);
    if (wanted == what.size_class) return p.lead == 0;
    return larger_stand_in_ && may_stand_in(what.size_class, wanted) &&
           p.lead == lead_in(p.payload - header - p.lead, wanted);
}

// ------------------------------------------------------------------------------------------ blocks

block_state heap_audit::state_of(u64 index) const noexcept {
    return static_cast<block_state>(states_[index / 4] >> (2 * (index % 4)) & 3);
}

void heap_audit::set_state(u64 index, block_state s) noexcept {
    u8& byte = states_[index / 4];
    const auto shift = static_cast<unsigned>(2 * (index % 4));
    byte = static_cast<u8>((byte & ~(3U << shift)) | static_cast<unsigned>(s) << shift);
}

// ------------------------------------------------------------------------------------------ owners

bool heap_audit::claim(const place& p, const char* what, u64 from) {
    const u64 index = runs_[p.run].first_state + p.block;
    const block_state before = state_of(index);
    if (before != block_state::unseen) {
        report_.add(from, std::string(what) + " at offset " + text_of(p.payload) +
                              " is referred to, but it is " + name_of(before));
        if (before == block_state::claimed) return false;
    }
    set_state(index, block_state::claimed);
    if (told_) told_(p, what, from);
    if (p.extent) {
        ++report_.heap.extents_claimed;
    } else if (runs_[p.run].what.use == page_use::slab) {
        ++report_.heap.classes[runs_[p.run].what.size_class].claimed;
    }
    return true;
}

void heap_audit::finish() {
    if (!view_.unclaimed_is_free()) finish_slabs();
    if (report_.complete()) view_.finish(*this);
}

void heap_audit::finish_slabs() {
    u64 lost = 0;
    u64 first_lost = 0;
    for (const run& r : runs_) {
        if (r.what.use == page_use::extent && state_of(r.first_state) == block_state::unseen) {
            if (!report_.complete()) {
                if (lost++ == 0) first_lost = r.offset;
                continue;
            }
            report_.add(r.offset, "an extent of " + text_of(r.what.pages) +
                                      " pages is handed out, but nothing refers to it");
        }
        if (r.what.use != page_use::slab) continue;
        const u32 blocks = slab_blocks(r.what.size_class);
        const u32 size = block_size(r.what.size_class);
        u64 leaked = 0;
        u64 first = 0;
        for (u32 i = 0; i < blocks; ++i) {
            if (state_of(r.first_state + i) != block_state::unseen) continue;
            if (leaked++ == 0) first = r.offset + u64{i} * size;
        }
        if (leaked == 0) continue;
        report_.heap.classes[r.what.size_class].leaked += leaked;
        if (!report_.complete()) {
            if (lost == 0) first_lost = first;
            lost += leaked;
            continue;
        }
        report_.add(first, text_of(leaked) + " of the " + text_of(blocks) + " " + text_of(size) +
                               "-byte blocks of the slab at offset " + text_of(r.offset) +
                               " are neither free nor referred to, the first of them here");
    }
    if (lost != 0) {
        report_.add(first_lost, text_of(lost) +
                                    " blocks cannot be accounted for, because not everything "
                                    "could be walked; the first of them here");
    }
}

}  // namespace hf
