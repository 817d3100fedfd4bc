// Memory of a swept heap that is free, but not where it is needed: swept_heap.hpp, W6.
#include "alloc/search_budget.hpp"
#include "alloc/swept_heap.hpp"
#include "base/lock_order.hpp"

#include <vector>

namespace hf {

using swept::run;

/// The contents of the shared lists of a class.
struct swept_heap::listed_blocks {
    std::vector<u64> free;
    std::vector<std::pair<u64, u64>> rests;
};

bool swept_heap::make_room(cache& own) {
    const u64 listed_before = listed_.load(std::memory_order_relaxed);
    give_up(own);
    if (gather_) gather_();
    const ranked_guard guard(lock_rank::heap_pages, mutex_);
    const u64 pages_before = pages_.pages();
    free_empty_slabs();
    return pages_.pages() != pages_before ||
           listed_.load(std::memory_order_relaxed) != listed_before;
}

/// Reads each block of the shared lists.
void swept_heap::free_empty_slabs() {
    const u64 listed = listed_.load(std::memory_order_relaxed);
    if (is_tracing() || !may_search(listed - listed_at_search_, searched_)) return;
    listed_at_search_ = listed;
    searched_ = 0;
    std::vector<run*> empty;
    for (u32 c = 0; c < block_classes; ++c) {
        listed_blocks all;
        take_lists(c, all);
        keep_partly_used(c, all, empty);
    }
    if (empty.empty()) return;
    clear_words(empty);
    for (run* r : empty) {
        remove_run(*r);
        gone_runs_[{r->offset, page_run{page_use::slab, r->size_class, r->pages}.pack()}] = r;
        pages_.insert(r->offset, r->pages);
    }
}

void swept_heap::take_lists(u32 size_class, listed_blocks& into) {
    const std::lock_guard guard(lists_[size_class].lock);
    into.free.swap(lists_[size_class].free);
    into.rests.swap(lists_[size_class].rests);
}

/// Adds the slabs all of whose blocks are in `all` to `empty`, and puts the other blocks back.
void swept_heap::keep_partly_used(u32 size_class, listed_blocks& all, std::vector<run*>& empty) {
    if (all.free.empty() && all.rests.empty()) return;
    const auto at = [this](u64 offset) {
        return by_page_[offset / page_size].load(std::memory_order_relaxed);
    };
    std::vector<run*> met;
    const auto add = [&](u64 offset, u64 blocks) {
        run* const r = at(offset);
        if (r->found_free == 0) met.push_back(r);
        r->found_free += static_cast<u32>(blocks);
    };
    for (const u64 offset : all.free) add(offset, 1);
    for (const auto& [from, end] : all.rests) add(from, (end - from) / block_size(size_class));
    searched_ += all.free.size();
    const auto is_empty = [&](u64 offset) { return at(offset)->found_free == at(offset)->blocks; };
    std::erase_if(all.free, is_empty);
    std::erase_if(all.rests, [&](const auto& rest) { return is_empty(rest.first); });
    for (run* r : met) {
        if (r->found_free == r->blocks) empty.push_back(r);
        r->found_free = 0;
    }
    const std::lock_guard guard(lists_[size_class].lock);
    auto& lists = lists_[size_class];
    lists.free.insert(lists.free.end(), all.free.begin(), all.free.end());
    lists.rests.insert(lists.rests.end(), all.rests.begin(), all.rests.end());
}

}  // namespace hf
