#include "alloc/page_heap.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "checkpoint/superblock_areas.hpp"
#include "persist/persist_point.hpp"

namespace hf {

namespace {

constexpr u64 min_growth_pages = (u64{64} << 20) / page_size;
constexpr u64 max_growth_pages = (u64{4} << 30) / page_size;

error corrupt(const region& r, u64 offset, std::string why) {
    return {errc::corrupt, "open the heap",
            r.path().string() + " at offset " + std::to_string(offset), std::move(why),
            "run `holdfast check` and restore the file from a copy"};
}

void format_segment(region& r, u64 offset, u64 pages) {
    auto* s = r.at<heap_segment>(offset);
    s->first_usable = descriptor_pages(pages);
    s->frontier.set(0, s->first_usable);
    // Last, and ordered: a segment whose magic number is missing is formatted again.
    std::atomic_ref(s->magic).store(heap_segment::magic_value, std::memory_order_release);
    r.med().flush(s, sizeof(*s));
}

}  // namespace

result<u64> format_heap(region& r) {
    auto segments = r.segments();
    auto first = std::find_if(segments.begin(), segments.end(),
                              [](const segment& s) { return s.kind == segment_kind::heap; });
    const u64 need = heap_root_pages + descriptor_pages(heap_root_pages + 64) + 1;
    if (first == segments.end() || first->pages < need) {
        auto grown = r.grow(segment_kind::heap, std::max(need, min_growth_pages), 0);
        if (!grown) return tl::unexpected(grown.error());
        first = segments.insert(segments.end(), *grown);
    }
    format_segment(r, first->offset, first->pages);
    auto* s = r.at<heap_segment>(first->offset);
    const u64 root_offset = first->offset + s->first_usable * page_size;
    s->descriptors()[s->first_usable].now.store(
        page_run{page_use::system, 0, heap_root_pages}.pack() << 4, std::memory_order_release);
    r.med().flush(&s->descriptors()[s->first_usable], sizeof(compact_cell));
    s->frontier.set(0, s->first_usable + heap_root_pages);
    auto* root = r.at<heap_root>(root_offset);
    root->magic = heap_root::magic_value;
    r.med().flush(root, line_size);
    r.med().flush(s, sizeof(*s));
    r.med().fence();
    HF_PERSIST_POINT("alloc F1: heap formatted before the root directory names it");
    return root_offset + offsetof(heap_root, founding);
}

// --------------------------------------------------------------------------------------- recovery

result<void> page_heap::recover() {
    region& r = domain_.store();
    bool flushed = false;
    for (const segment& s : r.segments()) {
        if (s.kind != segment_kind::heap) continue;
        auto* h = r.at<heap_segment>(s.offset);
        if (h->magic == 0 && !spans_.empty()) {
            format_segment(r, s.offset,
                           s.pages);  // grown, but the process ended before it was laid out
            r.med().fence();
        }
        if (h->magic != heap_segment::magic_value || h->first_usable != descriptor_pages(s.pages)) {
            return failure(corrupt(r, s.offset, "a heap segment's header is damaged"));
        }
        // Stamp 0 and not the running epoch: its first change in this session must note its line.
        if (h->frontier.recover(domain_.failed(), 0)) {
            r.med().flush(h, sizeof(*h));
            flushed = true;
        }
        if (h->frontier.get(0) < h->first_usable || h->frontier.get(0) > s.pages) {
            return failure(corrupt(r, s.offset, "a heap segment's frontier lies outside of it"));
        }
        add_segment(s);
    }
    if (flushed) r.med().fence();
    if (spans_.empty()) return failure(corrupt(r, 0, "the region has no heap segment"));
    if (spans_[0].pages < at(spans_[0]).first_usable + heap_root_pages) {
        return failure(corrupt(r, spans_[0].offset,
                               "the first heap segment is too small for the heap's root"));
    }
    root_offset_ = spans_[0].offset + at(spans_[0]).first_usable * page_size;
    root_ = r.at<heap_root>(root_offset_);
    if (root_->magic != heap_root::magic_value) {
        return failure(corrupt(r, root_offset_, "the heap's root page is damaged"));
    }
    return {};
}

void page_heap::add_segment(const segment& s) { spans_.push_back({s.offset, s.pages}); }

heap_segment& page_heap::at(const span& s) const noexcept {
    return *domain_.store().at<heap_segment>(s.offset);
}

const page_heap::span& page_heap::span_of(u64 offset) const noexcept {
    auto it = std::upper_bound(spans_.begin(), spans_.end(), offset,
                               [](u64 o, const span& s) { return o < s.offset; });
    HF_CHECK(it != spans_.begin(), "offset before the first heap segment");
    return *std::prev(it);
}

compact_cell& page_heap::descriptor(u64 offset) const noexcept {
    const span& s = span_of(offset);
    return at(s).descriptors()[(offset - s.offset) / page_size];
}

void page_heap::write_descriptor(lane& l, const failed_set& failed, u64 offset,
                                 const page_run& run) {
    compact_cell& cell = descriptor(offset);
    cell.write(run.pack(), failed, l.epoch);
    l.note_once(&cell, sizeof(cell));
    l.mark_written();
}

// -------------------------------------------------------------------------- reserve, commit, free

result<u64> page_heap::reserve(operation& op, u64 pages) {
    const std::lock_guard guard(mutex_);
    return_pending(op.epoch());
    if (u64 o = take_free_run(op, pages)) return o;
    if (u64 o = take_fresh(op, pages)) return o;
    if (!indexed_) {
        build_index(op.failed(), op.epoch());
        if (u64 o = take_free_run(op, pages)) return o;
    }
    if (auto grown = grow(pages); !grown) return tl::unexpected(grown.error());
    const u64 o = take_fresh(op, pages);
    HF_CHECK(o != 0, "a grown segment is too small");
    return o;
}

u64 page_heap::take_free_run(operation& op, u64 pages) {
    for (auto it = free_by_size_.lower_bound(pages); it != free_by_size_.end(); ++it) {
        const u64 offset = it->second;
        const u64 have = it->first;
        if (domain_.is_pinned(offset)) continue;
        free_by_size_.erase(it);
        free_by_offset_.erase(offset);
        // H1: the run is cut in two, durably free both, so that a walk meets the second.
        lane& l = op.my_lane();
        write_descriptor(l, op.failed(), offset, {page_use::free, 0, pages});
        if (have > pages) {
            const u64 rest = offset + pages * page_size;
            write_descriptor(l, op.failed(), rest, {page_use::free, 0, have - pages});
            insert_free(rest, have - pages);
        }
        return offset;
    }
    return 0;
}

u64 page_heap::take_fresh(operation& op, u64 pages) {
    lane& l = op.my_lane();
    for (auto it = spans_.rbegin(); it != spans_.rend(); ++it) {
        heap_segment& h = at(*it);
        const u64 frontier = h.frontier.get(0);
        if (it->pages - frontier < pages) continue;
        const u64 offset = it->offset + frontier * page_size;
        write_descriptor(l, op.failed(), offset, {page_use::free, 0, pages});
        if (h.frontier.begin(op.epoch())) l.note_sticky(&h, sizeof(h));
        h.frontier.set(0, frontier + pages);
        return offset;
    }
    return 0;
}

result<void> page_heap::grow(u64 pages) {
    region& r = domain_.store();
    const u64 least = pages + descriptor_pages(pages + 64) + 1;
    u64 ask = std::clamp(r.size() / page_size / 8, min_growth_pages, max_growth_pages);
    ask = std::max(ask, least);
    auto grown = r.grow(segment_kind::heap, ask, 0);
    if (!grown && ask > least) grown = r.grow(segment_kind::heap, least, 0);
    if (!grown) return tl::unexpected(grown.error());
    format_segment(r, grown->offset, grown->pages);
    r.med().fence();
    add_segment(*grown);
    return {};
}

void page_heap::commit(operation& op, u64 offset, const page_run& run) {
    const std::lock_guard guard(mutex_);
    write_descriptor(op.my_lane(), op.failed(), offset, run);
}

void page_heap::cancel(u64 offset, u64 pages) {
    const std::lock_guard guard(mutex_);
    insert_free(offset, pages);
}

void page_heap::release(operation& op, u64 offset) {
    const std::lock_guard guard(mutex_);
    const u64 value = descriptor(offset).read(op.failed(), op.epoch());
    const u64 pages = page_run::unpack(value).pages;
    write_descriptor(op.my_lane(), op.failed(), offset, {page_use::free, 0, pages});
    pending_.push_back({offset, pages, op.epoch()});
}

// --------------------------------------------------------------------------------- the free index

void page_heap::insert_free(u64 offset, u64 pages) {
    // Neighbours are joined in the index only: a longer run's first descriptor is written when it
    // is taken.
    auto next = free_by_offset_.lower_bound(offset);
    auto drop_size = [&](u64 o, u64 n) {
        auto range = free_by_size_.equal_range(n);
        for (auto it = range.first; it != range.second; ++it) {
            if (it->second == o) {
                free_by_size_.erase(it);
                return;
            }
        }
    };
    const u64 segment_start = span_of(offset).offset;
    if (next != free_by_offset_.end() && next->first == offset + pages * page_size &&
        span_of(next->first).offset == segment_start) {
        drop_size(next->first, next->second);
        pages += next->second;
        next = free_by_offset_.erase(next);
    }
    if (next != free_by_offset_.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second * page_size == offset && before->first > segment_start) {
            drop_size(before->first, before->second);
            offset = before->first;
            pages += before->second;
            free_by_offset_.erase(before);
        }
    }
    free_by_offset_[offset] = pages;
    free_by_size_.emplace(pages, offset);
}

void page_heap::return_pending(u64 current) {
    std::erase_if(pending_, [&](const pending_run& p) {
        if (p.freed_in >= current || domain_.is_pinned(p.offset)) return false;
        insert_free(p.offset, p.pages);
        return true;
    });
}

void page_heap::build_index(const failed_set& failed, u64 current) {
    // Runs that this session freed or holds reserved are in pending_, in the index or in use
    // already; what the walk adds is what earlier sessions left free. Reservations of this session
    // came from fresh space, whose descriptors carry this session's epochs.
    indexed_ = true;
    for (const span& s : spans_) {
        heap_segment& h = at(s);
        const u64 end = h.frontier.get(0);
        for (u64 p = h.first_usable; p < end;) {
            compact_cell& cell = h.descriptors()[p];
            const page_run run = page_run::unpack(cell.read(failed, current));
            const u64 stamped = compact_cell::full_epoch(cell.load().epoch, current);
            const bool ours =
                stamped >= epoch_state_of(domain_.store().super()).first_epoch_of_session;
            if (run.use == page_use::free && !ours)
                insert_free(s.offset + p * page_size, run.pages);
            p += run.pages;
        }
    }
}

void page_heap::walk(const std::function<bool(u64, const page_run&)>& visit) {
    const std::lock_guard guard(mutex_);
    const u64 current = domain_.current_epoch();
    for (const span& s : spans_) {
        heap_segment& h = at(s);
        const u64 end = h.frontier.get(0);
        for (u64 p = h.first_usable; p < end;) {
            const page_run run =
                page_run::unpack(h.descriptors()[p].read(domain_.failed(), current));
            if (!visit(s.offset + p * page_size, run)) return;
            p += run.pages;
        }
    }
}

void page_heap::refresh(lane& l, u64 older_than) {
    const std::lock_guard guard(mutex_);
    const failed_set& failed = domain_.failed();
    // The index tells this session's runs by their epochs, so it is built before these change.
    if (!indexed_) build_index(failed, l.epoch);
    for (const span& s : spans_) {
        heap_segment& h = at(s);
        const u64 end = h.frontier.get(0);
        for (u64 p = h.first_usable; p < end;) {
            compact_cell& cell = h.descriptors()[p];
            const u64 value = cell.read(failed, l.epoch);
            const u64 stamped = compact_cell::full_epoch(cell.load().epoch, l.epoch);
            if (cell.needs_recovery(failed, l.epoch) || stamped < older_than) {
                cell.write(value, failed, l.epoch);
                l.note_once(&cell, sizeof(cell));
                l.mark_written();
            }
            p += page_run::unpack(value).pages;
        }
    }
}

u64 page_heap::untouched_pages() {
    const std::lock_guard guard(mutex_);
    u64 n = 0;
    for (const span& s : spans_) n += s.pages - at(s).frontier.get(0);
    return n;
}

}  // namespace hf
