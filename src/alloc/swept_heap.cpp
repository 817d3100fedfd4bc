#include "alloc/swept_heap.hpp"

#include "base/check.hpp"
#include "base/lock_order.hpp"
#include "persist/persist_point.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace hf {

using swept::run;

swept_heap::swept_heap(region& r)
    : region_(r),
      by_page_(static_cast<std::atomic<run*>*>(
                   std::calloc(r.max_pages() + 1, sizeof(std::atomic<run*>))),
               std::free),
      lists_(std::make_unique<shared_list[]>(block_classes)) {
    HF_CHECK(by_page_ != nullptr, "no memory for the table of a heap's pages");
}

swept_heap::~swept_heap() = default;

// ---------------------------------------------------------------------------------------- segments

result<void> swept_heap::open() {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    for (const segment& s : region_.segments()) {
        if (s.kind != segment_kind::heap) continue;
        if (auto ok = add_segment(s); !ok) return ok;
    }
    if (is_after_a_kill()) {
        region_.med().fence();  // for the flushes of add_segment()
        HF_PERSIST_POINT("swept S4: page words that were found are durable before pages are taken");
    }
    make_marks();
    return {};
}

bool swept_heap::is_after_a_kill() const noexcept {
    return !region_.read_only() && !region_.created() && !region_.was_clean() &&
           !region_.med().is_atomic();
}

result<void> swept_heap::add_segment(const segment& s) {
    const auto& h = *region_.at<swept::segment_header>(s.offset);
    const u64 magic = h.magic.load(std::memory_order_acquire);
    if (s.pages <= swept::own_pages(s.pages)) {
        return failure(corrupt_heap(region_, s.offset, "a heap segment is too small"));
    }
    if (magic == 0) {  // grown, but never used
        write_header(s);
    } else if (magic != swept::segment_header::magic_value ||
               h.first_usable != swept::own_pages(s.pages)) {
        return failure(corrupt_heap(region_, s.offset, "a heap segment's header is damaged"));
    }
    if (is_after_a_kill()) region_.med().flush(&h, swept::own_pages(s.pages) * page_size);
    segments_.push_back({s.offset, s.pages});
    return index(segments_.back());
}

// Nothing depends on the header, and it is written again if it is missing:
// so any later fence suffices.
void swept_heap::write_header(const segment& s) {
    auto* h = region_.at<swept::segment_header>(s.offset);
    h->first_usable = swept::own_pages(s.pages);
    h->magic.store(swept::segment_header::magic_value, std::memory_order_release);
    region_.med().flush(h, sizeof(*h));
}

result<void> swept_heap::index(const heap_span& s) {
    u64 wrong = 0;
    walk_runs(swept::descriptors{region_}, s, [&](u64 page, const page_run& what) {
        if (!is_possible(what, s.pages - page)) {
            wrong = swept::descriptor_of(s, page);
        } else if (what.use == page_use::free) {
            pages_.insert(s.offset_of(page), what.pages);
        } else {
            add_run(s, page, what, true);
        }
        return wrong == 0;
    });
    if (wrong == 0) return {};
    return failure(corrupt_heap(region_, wrong, "a page's descriptor is damaged"));
}

const heap_span* swept_heap::span_of(u64 offset) const noexcept {
    auto after = std::upper_bound(segments_.begin(), segments_.end(), offset,
                                  [](u64 o, const heap_span& s) { return o < s.offset; });
    if (after == segments_.begin()) return nullptr;
    return std::prev(after)->contains(offset) ? &*std::prev(after) : nullptr;
}

// ------------------------------------------------------------------------------------------- pages

/// The object of a run that was freed, for the next one like it; nullptr: there is none.
run* swept_heap::gone_like(u64 offset, const page_run& what) {
    const auto gone = gone_runs_.find({offset, what.pack()});
    if (gone == gone_runs_.end()) return nullptr;
    run* const r = gone->second;
    gone_runs_.erase(gone);
    return r;
}

run& swept_heap::add_run(const heap_span& s, u64 page, const page_run& what, bool old) {
    const u32 size_class = what.use == page_use::slab ? what.size_class : extent_class;
    run* made = old ? nullptr : gone_like(s.offset_of(page), what);
    if (made == nullptr) {
        runs_.push_back(std::make_unique<run>(s.offset_of(page), what.pages,
                                              swept::descriptor_of(s, page), size_class, old));
        made = runs_.back().get();
    }
    run& added = *made;
    for (u64 i = 0; i < what.pages; ++i) {
        by_page_[added.offset / page_size + i].store(&added, std::memory_order_release);
    }
    return added;
}

/// The object is not destroyed, since another thread may read it.
void swept_heap::remove_run(const run& r) {
    for (u64 i = 0; i < r.pages; ++i) {
        by_page_[r.offset / page_size + i].store(nullptr, std::memory_order_release);
    }
}

const run* swept_heap::run_of(u64 offset) const noexcept {
    const u64 page = offset / page_size;
    if (page >= region_.max_pages()) return nullptr;
    return by_page_[page].load(std::memory_order_acquire);
}

/// 0: there are none, and the region may not grow.
bool swept_heap::keeps_enough(u64 pages) const {
    if (kept_share_ == 0) return true;
    const u64 mapped = region_.size() / page_size;
    const u64 spare =
        pages_.pages() + (region_.max_pages() - std::min(mapped, region_.max_pages()));
    return spare >= pages + region_.max_pages() / kept_share_;
}

result<u64> swept_heap::take_pages(const cache& c, u64 pages, bool may_grow) {
    if (!c.is_for_node_ && !keeps_enough(pages)) {
        if (!may_grow) return u64{0};
        return failure({errc::no_space, "allocate a record", region_.path().string(),
                        "its maximal size is reached; a " + std::to_string(kept_share_) +
                            "th of it is kept for the nodes of the index, which removals need",
                        "remove records, or open the region with a larger maximal size"});
    }
    const auto take = [&] { return pages_.take(pages, [](u64) { return true; }).offset; };
    if (u64 offset = take()) return offset;
    if (!may_grow) return u64{0};
    auto grown = grow_heap(region_, swept::pages_around(pages));
    if (!grown) return tl::unexpected(grown.error());
    if (auto ok = add_segment(*grown); !ok) return tl::unexpected(ok.error());
    const u64 offset = take();
    HF_CHECK(offset != 0, "a grown segment is too small");
    return offset;
}

/// nullptr: there are no free pages, and the region may not grow.
result<run*> swept_heap::make_run(const cache& c, const page_run& what, bool may_grow) {
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    auto offset = take_pages(c, what.pages, may_grow);
    if (!offset) return tl::unexpected(offset.error());
    if (*offset == 0) return nullptr;
    const heap_span& s = *span_of(*offset);
    run& made = add_run(s, s.page_of(*offset), what, false);
    auto* w = region_.at<swept::word>(made.descriptor);
    w->store(what.pack(), std::memory_order_relaxed);
    region_.med().persist(w, sizeof(*w));
    HF_PERSIST_POINT("swept S1: a run's word is durable before its memory is handed out");
    return &made;
}

result<u64> swept_heap::take_extent(cache& c, u64 pages) {
    const page_run what{page_use::extent, 0, pages};
    auto made = make_run(c, what, false);
    if (made && *made == nullptr && make_room(c)) made = make_run(c, what, false);
    if (made && *made == nullptr) made = make_run(c, what, true);
    if (!made) return tl::unexpected(made.error());
    return (*made)->offset;
}

void swept_heap::free_extent(run& r) {
    if (is_tracing()) {
        const ranked_guard guard(lock_rank::swept_old_pages, old_mutex_);
        gone_.insert(r.offset / page_size);
    }
    run* const freed = &r;
    clear_words({&freed, 1});
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    remove_run(r);
    if (!r.old.load(std::memory_order_relaxed)) {
        gone_runs_[{r.offset, page_run{page_use::extent, 0, r.pages}.pack()}] = &r;
    }
    pages_.insert(r.offset, r.pages);
}

// ------------------------------------------------------------------------------------------ blocks

/// A block that is free in the cache; 0: there is none.
u64 swept_heap::take_cached(cache::of_class& mine, u32 size_class) {
    if (!mine.free.empty()) {
        const u64 offset = mine.free.back();
        mine.free.pop_back();
        return offset;
    }
    if (mine.bump == mine.end) return 0;
    return std::exchange(mine.bump, mine.bump + block_size(size_class));
}

result<u64> swept_heap::allocate(cache& c, u64 bytes) {
    const u64 size = bytes <= 32 ? 32 : align_up(bytes, line_size);
    if (size > largest_block) return take_extent(c, pages_of(size));
    const u32 size_class = class_of_block(size);
    cache::of_class& mine = c.classes_[size_class];
    if (const u64 offset = take_cached(mine, size_class); offset != 0) [[likely]] {
        return offset;
    }
    return refill(c, size_class);
}

result<u64> swept_heap::allocate_node(cache& c, u64 bytes) {
    c.is_for_node_ = true;
    auto made = allocate(c, bytes);
    c.is_for_node_ = false;
    return made;
}

/// False: the shared lists have no block of the class.
bool swept_heap::take_from_lists(cache::of_class& mine, u32 size_class) {
    shared_list& all = lists_[size_class];
    const std::lock_guard guard(all.lock);
    const std::size_t n = std::min(exchanged, all.free.size());
    mine.free.insert(mine.free.end(), all.free.end() - static_cast<std::ptrdiff_t>(n),
                     all.free.end());
    all.free.resize(all.free.size() - n);
    if (n == 0 && !all.rests.empty()) {
        std::tie(mine.bump, mine.end) = all.rests.back();
        all.rests.pop_back();
    }
    return n != 0 || mine.bump != mine.end;
}

result<u64> swept_heap::refill(cache& c, u32 size_class) {
    cache::of_class& mine = c.classes_[size_class];
    const page_run what{page_use::slab, size_class, slab_pages(size_class)};
    if (take_from_lists(mine, size_class)) return take_cached(mine, size_class);
    auto made = make_run(c, what, false);
    if (made && *made == nullptr) {
        // Even if this thread found nothing: another one may have, or had the lists meanwhile.
        std::ignore = make_room(c);
        if (take_from_lists(mine, size_class)) return take_cached(mine, size_class);
        made = make_run(c, what, false);
    }
    if (made && *made == nullptr) made = make_run(c, what, true);
    if (!made) {
        const u64 larger = made.error().code == errc::no_space ? take_larger(c, size_class) : 0;
        if (larger != 0) return larger;
        return tl::unexpected(made.error());
    }
    mine.bump = (*made)->offset;
    mine.end = (*made)->block_at((*made)->blocks);
    return take_cached(mine, size_class);
}

/// A free block of the next larger class that has one; 0: none has. A record may waste a quarter of
/// its size: expired records can still be removed, whose slabs then become free pages. Nodes are
/// few beside records, and take any block. It begins at a line's start, as do all blocks but the
/// smallest.
u64 swept_heap::take_larger(cache& c, u32 wanted) {
    const u64 size = block_size(wanted);
    const u64 most = c.is_for_node_ ? largest_block : size + size / 4;
    for (const u32 larger : classes_by_size()) {
        if (block_size(larger) > most) return 0;
        if (block_size(larger) <= size || block_size(larger) % line_size != 0) continue;
        cache::of_class& of_larger = c.classes_[larger];
        if (const u64 offset = take_cached(of_larger, larger); offset != 0) return offset;
        if (take_from_lists(of_larger, larger)) return take_cached(of_larger, larger);
    }
    return 0;
}

void swept_heap::free(cache& c, u64 offset) {
    run* r = by_page_[offset / page_size].load(std::memory_order_acquire);
    HF_CHECK(r != nullptr && r->begins_at(offset), "what is freed is no block of the heap");
    if (r->old.load(std::memory_order_acquire)) [[unlikely]] {
        if (free_later(*r, offset)) return;
    }
    if (r->is_extent()) return free_extent(*r);
    std::vector<u64>& mine = c.classes_[r->size_class].free;
    mine.push_back(offset);
    if (mine.size() < most_kept) return;
    shared_list& all = lists_[r->size_class];
    const auto from = mine.begin();  // the coldest
    const auto to = from + exchanged;
    {
        const std::lock_guard guard(all.lock);
        all.free.insert(all.free.end(), from, to);
    }
    listed_.fetch_add(exchanged, std::memory_order_relaxed);
    mine.erase(from, to);
}

void swept_heap::free_if_block(cache& c, u64 offset) {
    const run* r = run_of(offset);
    if (r != nullptr && r->begins_at(offset)) free(c, offset);
}

void swept_heap::give_up(cache& c) {
    for (u32 i = 0; i < block_classes; ++i) {
        cache::of_class& mine = c.classes_[i];
        if (mine.free.empty() && mine.bump == mine.end) continue;
        const std::lock_guard guard(lists_[i].lock);
        lists_[i].free.insert(lists_[i].free.end(), mine.free.begin(), mine.free.end());
        if (mine.bump < mine.end) lists_[i].rests.emplace_back(mine.bump, mine.end);
        listed_.fetch_add(mine.free.size() + 1, std::memory_order_relaxed);
        mine = {};
    }
}

void swept_heap::put_into_lists(u32 size_class, std::vector<u64>& blocks) {
    const std::lock_guard guard(lists_[size_class].lock);
    auto& all = lists_[size_class].free;
    all.insert(all.end(), blocks.begin(), blocks.end());
    listed_.fetch_add(blocks.size(), std::memory_order_relaxed);
    blocks.clear();
}

u64 swept_heap::free_bytes() const {
    u64 bytes = 0;
    for (u32 i = 0; i < block_classes; ++i) {
        const std::lock_guard lock(lists_[i].lock);
        bytes += lists_[i].free.size() * block_size(i);
        for (const auto& [from, end] : lists_[i].rests) bytes += end - from;
    }
    const ranked_guard lock(lock_rank::heap_pages, mutex_);
    return bytes + pages_.pages() * layout::page_size;
}

void swept_heap::each_free(std::span<const cache* const> caches,
                           const std::function<void(u64)>& visit) const {
    const auto rest = [&](u32 size_class, u64 from, u64 end) {
        for (; from < end; from += block_size(size_class)) visit(from);
    };
    for (u32 i = 0; i < block_classes; ++i) {
        for (u64 offset : lists_[i].free) visit(offset);
        for (const auto& [from, end] : lists_[i].rests) rest(i, from, end);
        for (const cache* c : caches) {
            for (u64 offset : c->classes_[i].free) visit(offset);
            rest(i, c->classes_[i].bump, c->classes_[i].end);
        }
    }
}

}  // namespace hf
