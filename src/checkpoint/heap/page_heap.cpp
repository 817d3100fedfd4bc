#include "checkpoint/heap/page_heap.hpp"

#include "base/check.hpp"
#include "base/lock_order.hpp"
#include "epoch/epoch_area.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <span>

namespace hf {

namespace {

void format_segment(region& r, u64 offset, u64 pages) {
    auto* s = r.at<heap_segment>(offset);
    s->first_usable = descriptor_pages(pages);
    s->frontier.set(0, s->first_usable);
    // Last, and ordered: a segment whose magic number is missing is formatted again.
    std::atomic_ref(s->magic).store(heap_segment::magic_value, std::memory_order_release);
    r.med().flush(s, sizeof(*s));
}

result<u64> lay_heap(region& r, const segment& first, const root_layout& layout) {
    if (first.pages < descriptor_pages(first.pages) + layout.pages()) {
        return failure(corrupt_heap(r, 0, "the region is too small for the heap's root"));
    }
    format_segment(r, first.offset, first.pages);
    auto* s = r.at<heap_segment>(first.offset);
    const u64 root_offset = first.offset + s->first_usable * page_size;
    s->descriptors()[s->first_usable].now.store(
        page_run{page_use::system, 0, layout.pages()}.pack() << 4, std::memory_order_release);
    r.med().flush(&s->descriptors()[s->first_usable], sizeof(compact_cell));
    s->frontier.set(0, s->first_usable + layout.pages());
    auto* root = r.at<heap_root>(root_offset);
    root->counts_objects = 1;
    const bool fine = layout.classes == class_range::fine;
    root->magic = fine ? heap_root::magic_2 : heap_root::magic_1;
    root->set_count = fine ? heap_root::pack_sets(layout.sets) : 0;
    r.med().flush(root, line_size);
    r.med().flush(s, sizeof(*s));
    r.med().fence();
    HF_PERSIST_POINT("alloc F1: heap formatted before the root directory names it");
    return root_offset + layout.founding;
}

segment first_heap_segment(const region& r) {
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::heap) return s;
    }
    return {};
}

}  // namespace

result<u64> format_heap(region& r) {
    const segment first = first_heap_segment(r);
    return lay_heap(r, first, layout_for(r.max_pages(), first.pages));
}

result<u64> format_heap_1(region& r) {
    return lay_heap(r, first_heap_segment(r), heap_root::layout_1());
}

// --------------------------------------------------------------------------------------- recovery

result<void> page_heap::recover() {
    region& r = checkpoint_.file();
    spans_.reserve(layout::max_segments);
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
            return failure(corrupt_heap(r, s.offset, "a heap segment's header is damaged"));
        }
        // Stamp 0 and not the running epoch: its first change in this session must note its line.
        if (h->frontier.recover(checkpoint_.failed(), 0)) {
            r.med().flush(h, sizeof(*h));
            flushed = true;
        }
        // The heap's own root follows the descriptors of the first one.
        const u64 least = h->first_usable + (spans_.empty() ? 1 : 0);
        if (h->frontier.get(0) < least || h->frontier.get(0) > s.pages) {
            return failure(
                corrupt_heap(r, s.offset, "a heap segment's frontier lies outside of it"));
        }
        add_span({s.offset, s.pages});
    }
    if (flushed) r.med().fence();
    if (spans_.empty()) return failure(corrupt_heap(r, 0, "the region has no heap segment"));
    return find_root();
}

result<void> page_heap::find_root() {
    region& r = checkpoint_.file();
    const heap_segment& first = at(spans_[0]);
    root_offset_ = spans_[0].offset + first.first_usable * page_size;
    root_ = r.at<heap_root>(root_offset_);
    const auto layout = root_->layout();
    if (!layout) return failure(corrupt_heap(r, root_offset_, "the heap's root page is damaged"));
    layout_ = *layout;
    if (first.frontier.get(0) < first.first_usable + layout_.pages()) {
        return failure(corrupt_heap(r, spans_[0].offset,
                                    "a heap segment's frontier lies inside of the heap's root"));
    }
    return {};
}

heap_segment& page_heap::at(const heap_span& s) const noexcept {
    return *checkpoint_.file().at<heap_segment>(s.offset);
}

compact_cell& page_heap::descriptor(u64 offset) const noexcept {
    const std::span known(spans_.data(), known_spans_.load(std::memory_order_acquire));
    const auto behind = std::ranges::upper_bound(known, offset, {}, &heap_span::offset);
    HF_CHECK(behind != known.begin(), "offset before the first heap segment");
    const heap_span& s = *std::prev(behind);
    return at(s).descriptors()[s.page_of(offset)];
}

void page_heap::add_span(const heap_span& s) {
    HF_ASSERT(spans_.size() < spans_.capacity(), "the heap has more segments than a region");
    spans_.push_back(s);
    known_spans_.store(spans_.size(), std::memory_order_release);
}

u32 page_heap::class_at(const failed_set& failed, u64 epoch, u64 block) const noexcept {
    return page_run::unpack(descriptor(block).read(failed, epoch)).size_class;
}

void page_heap::write_descriptor(lane& l, const failed_set& failed, u64 offset,
                                 const page_run& run) {
    compact_cell& cell = descriptor(offset);
    cell.write(run.pack(), failed, l.epoch);
    l.note_once(&cell, sizeof(cell));
    l.mark_written();
}

// -------------------------------------------------------------------------- reserve, commit, free

result<u64> page_heap::reserve(operation& op, u64 pages) noexcept(!crashes_throw) {
    try {
        return find_pages(op, pages);
    } catch (const damage& d) {
        return failure(d.to_error("allocate memory", checkpoint_.file().path()));
    }
}

/// 0: there are none.
u64 page_heap::find_free_pages(operation& op, u64 pages) {
    return_pending(op.epoch());
    if (u64 o = take_free_run(op, pages)) return o;
    if (u64 o = take_fresh(op, pages)) return o;
    if (indexed_) return 0;
    build_index(op.failed(), op.epoch());
    return take_free_run(op, pages);
}

result<u64> page_heap::find_pages(operation& op, u64 pages) {
    {
        const ranked_guard guard(lock_rank::heap_pages, mutex_);
        if (u64 o = find_free_pages(op, pages)) return o;
    }
    if (may_grow_ && !may_grow_()) {
        return failure({errc::no_space, "grow the heap", checkpoint_.file().path().string(),
                        "much of it is free in blocks that no slab needs any more",
                        "free empty slabs, and try again in the next epoch"});
    }
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    if (u64 o = find_free_pages(op, pages)) return o;  // another thread was first
    if (auto grown = grow(pages); !grown) return tl::unexpected(grown.error());
    const u64 o = take_fresh(op, pages);
    HF_CHECK(o != 0, "a grown segment is too small");
    return o;
}

u64 page_heap::take_free_run(operation& op, u64 pages) {
    const free_runs::run found =
        free_.take(pages, [this](u64 offset) { return !checkpoint_.epochs().is_pinned(offset); });
    if (found.pages == 0) return 0;
    // H1: the run is cut in two, durably free both, so that a walk meets the second.
    lane& l = op.my_lane();
    write_descriptor(l, op.failed(), found.offset, {page_use::free, 0, pages});
    if (found.pages > pages) {
        write_descriptor(l, op.failed(), found.offset + pages * page_size,
                         {page_use::free, 0, found.pages - pages});
    }
    return found.offset;
}

u64 page_heap::take_fresh(operation& op, u64 pages) {
    lane& l = op.my_lane();
    for (auto it = spans_.rbegin(); it != spans_.rend(); ++it) {
        heap_segment& h = at(*it);
        const u64 frontier = h.frontier.get(0);
        // A damaged segment allocates nothing.
        if (frontier < h.first_usable || frontier > it->pages) continue;
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
    region& r = checkpoint_.file();
    auto grown = grow_heap(r, segment_pages_for(pages));
    if (!grown) return tl::unexpected(grown.error());
    format_segment(r, grown->offset, grown->pages);
    r.med().fence();
    add_span({grown->offset, grown->pages});
    return {};
}

void page_heap::commit(operation& op, u64 offset, const page_run& run) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    write_descriptor(op.my_lane(), op.failed(), offset, run);
}

void page_heap::cancel(u64 offset, u64 pages) noexcept(!crashes_throw) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    free_.insert(offset, pages);
}

void page_heap::release(lane& l, const failed_set& failed, u64 offset,
                        u64 pages) noexcept(!crashes_throw) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    write_descriptor(l, failed, offset, {page_use::free, 0, pages});
    pending_.push_back({offset, pages, l.epoch});
}

u64 page_heap::pending_pages(u64 epoch) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    u64 pages = 0;
    for (const pending_run& p : pending_) pages += p.freed_in == epoch ? p.pages : 0;
    return pages;
}

// --------------------------------------------------------------------------------- the free index

template <class Visit>
bool page_heap::walk_span(const reader& words, const heap_span& s, Visit&& visit) const {
    const u64 end = words.end_page(s);
    // It was sound when it was opened; but something damaged may have led a write here since.
    if (words.first_page(s) != descriptor_pages(s.pages) || end < words.first_page(s) ||
        end > s.pages) {
        throw damage(s.offset, "a heap segment's header is damaged");
    }
    return walk_runs(words, s, [&](u64 page, const page_run& run) {
        const bool is_root = run.use == page_use::system && s.offset_of(page) == root_offset_;
        if (is_root ? run.pages != layout_.pages()
                    : !is_possible(run, end - page, layout_.classes)) {
            throw damage(offset_from(checkpoint_.file().base(), &at(s).descriptors()[page]),
                         "a page's descriptor tells of a run that can't be there");
        }
        return visit(page, run);
    });
}

// Neighbours are joined in the index only: a longer run's first descriptor is written when it is
// taken.
void page_heap::return_pending(u64 current) {
    std::erase_if(pending_, [&](const pending_run& p) {
        if (p.freed_in >= current || checkpoint_.epochs().is_pinned(p.offset)) return false;
        free_.insert(p.offset, p.pages);
        return true;
    });
}

void page_heap::build_index(const failed_set& failed, u64 current) {
    // Runs that this session freed or holds reserved are in pending_, in the index or in use
    // already; what the walk adds is what earlier sessions left free. Reservations of this session
    // came from fresh space, whose descriptors carry this session's epochs.
    indexed_ = true;
    for (const heap_span& s : spans_) {
        walk_span(reader{*this, failed, current}, s, [&](u64 page, const page_run& run) {
            const compact_cell& cell = at(s).descriptors()[page];
            const u64 stamped = compact_cell::full_epoch(cell.load().epoch, current);
            const u64 begun = epoch_area_of(checkpoint_.file().super()).first_epoch_of_session;
            if (run.use == page_use::free && stamped < begun) {
                free_.insert(s.offset_of(page), run.pages);
            }
            return true;
        });
    }
}

void page_heap::walk(const std::function<bool(u64, const page_run&)>& visit) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    const reader words{*this, checkpoint_.failed(), checkpoint_.epochs().current_epoch()};
    for (const heap_span& s : spans_) {
        const bool all = walk_span(
            words, s, [&](u64 page, const page_run& run) { return visit(s.offset_of(page), run); });
        if (!all) return;
    }
}

void page_heap::refresh(lane& l, u64 older_than) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    const failed_set& failed = checkpoint_.failed();
    // The index tells this session's runs by their epochs, so it is built before these change.
    if (!indexed_) build_index(failed, l.epoch);
    for (const heap_span& s : spans_) {
        walk_span(reader{*this, failed, l.epoch}, s, [&](u64 page, const page_run& run) {
            compact_cell& cell = at(s).descriptors()[page];
            const u64 stamped = compact_cell::full_epoch(cell.load().epoch, l.epoch);
            if (cell.needs_recovery(failed, l.epoch) || stamped < older_than) {
                const u64 value = cell.read(failed, l.epoch);
                HF_ASSERT(page_run::unpack(value).pages == run.pages, "H1: another run");
                cell.write(value, failed, l.epoch);
                l.note_once(&cell, sizeof(cell));
                l.mark_written();
            }
            return true;
        });
    }
}

u64 page_heap::untouched_pages() {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    u64 n = 0;
    for (const heap_span& s : spans_) n += s.pages - at(s).frontier.get(0);
    return n;
}

}  // namespace hf
