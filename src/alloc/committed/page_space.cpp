#include "alloc/committed/page_space.hpp"

#include "base/check.hpp"
#include "base/lock_order.hpp"
#include "persist/persist_point.hpp"

namespace hf::committed {

// ---------------------------------------------------------------------------------------- segments

result<void> page_space::open() {
    for (const segment& s : region_.segments()) {
        if (s.kind != segment_kind::heap) continue;
        const auto& h = *region_.at<segment_header>(s.offset);
        const u64 magic = h.magic.load(std::memory_order_acquire);
        if (s.pages <= own_pages(s.pages)) {
            return failure(corrupt_heap(region_, s.offset, "a heap segment is too small"));
        }
        if (magic == 0) {  // the process died after the growth
            write_header(s);
        } else if (magic != segment_header::magic_value || h.first_usable != own_pages(s.pages)) {
            return failure(corrupt_heap(region_, s.offset, "a heap segment's header is damaged"));
        }
        static_cast<void>(add_segment(s));
    }
    return {};
}

// No commit depends on the header, and it is written again if it is missing:
// so any later fence suffices.
void page_space::write_header(const segment& s) {
    auto* h = region_.at<segment_header>(s.offset);
    h->first_usable = own_pages(s.pages);
    h->magic.store(segment_header::magic_value, std::memory_order_release);
    region_.med().flush(h, sizeof(*h));
}

page_space::pages_of_segment& page_space::add_segment(const segment& s) {
    const u64 count = segment_count_.load(std::memory_order_relaxed);
    HF_CHECK(count < layout::max_segments, "more segments than a region can have");
    segments_[count] = std::make_unique<pages_of_segment>();
    segments_[count]->span = {s.offset, s.pages};
    segment_count_.store(count + 1, std::memory_order_release);
    return *segments_[count];
}

page_space::pages_of_segment* page_space::segment_of(u64 offset) const noexcept {
    u64 low = 0;
    for (u64 high = segment_count_.load(std::memory_order_acquire); low < high;) {
        const u64 middle = (low + high) / 2;
        if (segments_[middle]->span.contains(offset)) return segments_[middle].get();
        if (segments_[middle]->span.offset > offset) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return nullptr;
}

u64 page_space::descriptor_at(u64 offset) const {
    const pages_of_segment* s = segment_of(offset);
    HF_CHECK(s != nullptr, "an offset outside of the heap");
    return descriptor_of(s->span, s->span.page_of(offset));
}

/// C5. On the medium `file` no process leaves anything in caches.
void page_space::persist_words(const heap_span& s) const {
    const medium& med = region_.med();
    if (region_.read_only() || region_.created() || region_.was_clean() || med.is_atomic()) return;
    med.flush(region_.at<word>(descriptor_of(s, 0)), 8 * s.pages);
    med.fence();
    HF_PERSIST_POINT("alloc C5: page words that were found are durable before pages are taken");
}

/// Indexes nothing if the segment has an impossible word.
result<void> page_space::index(pages_of_segment& s) {
    persist_words(s.span);
    const descriptors words{region_};
    u64 wrong = 0;
    walk_runs(words, s.span, [&](u64 page, const page_run& run) {
        if (!is_possible(run, s.span.pages - page)) wrong = descriptor_of(s.span, page);
        return wrong == 0;
    });
    if (wrong != 0) {
        return failure(corrupt_heap(region_, wrong, "a page's descriptor is damaged"));
    }
    s.slab_of_page = std::make_unique<std::atomic<slab*>[]>(s.span.pages);
    walk_runs(words, s.span, [&](u64 page, const page_run& run) {
        if (run.use == page_use::free) free_.insert(s.span.offset_of(page), run.pages);
        if (run.use == page_use::slab) {
            dormant_[run.size_class].push_back(
                &add_slab(s, page, run.size_class, slab::stage::settled));
        }
        return true;
    });
    s.indexed.store(true, std::memory_order_release);
    return {};
}

bool page_space::make_indexed(pages_of_segment& s) {
    return s.indexed.load(std::memory_order_relaxed) || index(s).has_value();
}

result<bool> page_space::index_next() {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    for (; first_unindexed_ < segment_count_.load(std::memory_order_relaxed); ++first_unindexed_) {
        pages_of_segment& s = *segments_[first_unindexed_];
        if (s.indexed.load(std::memory_order_relaxed)) continue;
        if (auto done = index(s); !done) return tl::unexpected(done.error());
        return true;
    }
    return false;
}

// ------------------------------------------------------------------------------------------- pages

u64 page_space::take_locked(u64 pages) {
    return free_.take(pages, [](u64) { return true; }).offset;
}

u64 page_space::take(u64 pages) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    return take_locked(pages);
}

void page_space::give_back(u64 offset, u64 pages) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    free_.insert(offset, pages);
}

result<u64> page_space::take_grown(u64 pages) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    if (u64 offset = take_locked(pages)) return offset;  // another thread was first
    auto grown = grow_heap(region_, pages_around(pages));
    if (!grown) return tl::unexpected(grown.error());
    write_header(*grown);
    if (auto done = index(add_segment(*grown)); !done) return tl::unexpected(done.error());
    const u64 offset = take_locked(pages);
    HF_CHECK(offset != 0, "a grown segment is too small");
    return offset;
}

// ------------------------------------------------------------------------------------------- slabs

slab& page_space::add_slab(pages_of_segment& s, u64 page, u32 size_class, slab::stage durable) {
    auto made = std::make_unique<slab>(region_, s.span, page, size_class, durable);
    slab& added = *made;
    for (u64 i = 0; i < slab_pages(size_class); ++i) {
        s.slab_of_page[page + i].store(&added, std::memory_order_release);
    }
    slabs_[added.offset] = std::move(made);
    return added;
}

slab& page_space::add_slab(u64 offset, u32 size_class) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    pages_of_segment& s = *segment_of(offset);
    slab& added = add_slab(s, s.span.page_of(offset), size_class, slab::stage::absent);
    added.know();
    HF_ASSERT(added.free == added.blocks, "free pages have blocks that are handed out");
    return added;
}

slab* page_space::take_dormant(u32 size_class) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    if (dormant_[size_class].empty()) return nullptr;
    slab* s = dormant_[size_class].back();
    dormant_[size_class].pop_back();
    return s;
}

slab* page_space::slab_of(u64 offset) {
    pages_of_segment* s = segment_of(offset);
    if (s == nullptr) return nullptr;
    if (!s->indexed.load(std::memory_order_acquire)) {
        const ranked_guard guard(lock_rank::heap_pages, mutex_);
        if (!make_indexed(*s)) return nullptr;
    }
    return s->slab_of_page[s->span.page_of(offset)].load(std::memory_order_acquire);
}

void page_space::drop(slab& s) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    pages_of_segment& of = *segment_of(s.offset);
    const u64 pages = slab_pages(s.size_class);
    const u64 offset = s.offset;
    for (u64 i = 0; i < pages; ++i) {
        of.slab_of_page[of.span.page_of(offset) + i].store(nullptr, std::memory_order_release);
    }
    slabs_.erase(offset);
    free_.insert(offset, pages);
}

// ----------------------------------------------------------------------------------------- extents

// Its segment is indexed before its word changes: otherwise a later index would count it as free.
bool page_space::release_extent(u64 offset, u64 pages) {
    const u64 value = region_.at<word>(descriptor_at(offset))->load(std::memory_order_acquire);
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    return make_indexed(*segment_of(offset)) &&
           value == page_run{page_use::extent, 0, pages}.pack() &&
           released_extents_.insert(offset).second;
}

void page_space::keep_extent(u64 offset) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    released_extents_.erase(offset);
}

void page_space::free_extent(u64 offset, u64 pages) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    released_extents_.erase(offset);
    free_.insert(offset, pages);
}

}  // namespace hf::committed
