#include "alloc/free_runs.hpp"

#include "base/check.hpp"

namespace hf {

void free_runs::insert(u64 offset, u64 pages) {
    auto next = by_offset_.lower_bound(offset);
    HF_ASSERT(next == by_offset_.end() || offset + pages * page_size <= next->first,
              "pages are free twice");
    const auto after = by_offset_.find(offset + pages * page_size);
    if (after != by_offset_.end()) {
        by_size_.erase({after->second, after->first});
        pages += after->second;
        next = by_offset_.erase(after);
    }
    if (next != by_offset_.begin()) {
        const auto before = std::prev(next);
        HF_ASSERT(before->first + before->second * page_size <= offset, "pages are free twice");
        if (before->first + before->second * page_size == offset) {
            by_size_.erase({before->second, before->first});
            offset = before->first;
            pages += before->second;
            by_offset_.erase(before);
        }
    }
    by_offset_[offset] = pages;
    by_size_.emplace(pages, offset);
}

void free_runs::cut(const run& whole, u64 pages) {
    by_size_.erase({whole.pages, whole.offset});
    by_offset_.erase(whole.offset);
    if (whole.pages > pages) insert(whole.offset + pages * page_size, whole.pages - pages);
}

}  // namespace hf
