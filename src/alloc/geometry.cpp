#include "alloc/geometry.hpp"

#include <algorithm>

namespace hf {

bool is_possible(const page_run& run, u64 room, class_range classes) noexcept {
    if (run.pages > room) return false;
    if (run.use != page_use::slab) return run.use == page_use::free || run.use == page_use::extent;
    return run.size_class < classes_in(classes) && run.pages == slab_pages(run.size_class);
}

namespace {

u64 pages_of(const region& r, segment_kind kind) {
    u64 pages = 0;
    for (const segment& s : r.segments()) pages += s.kind == kind ? s.pages : 0;
    return pages;
}

/// Pages kept for logs that no log has yet. On a medium whose epochs are atomic there are no undo
/// logs.
u64 still_kept_for_logs(const region& r) {
    if (r.med().is_atomic()) return 0;
    const u64 kept = kept_from_heap(r.max_pages());
    return kept - std::min(kept, pages_of(r, segment_kind::log));
}

}  // namespace

u64 pages_kept_for_slots(const region& r) {
    const u64 slots = pages_of(r, segment_kind::slots);
    const u64 kept = slots == 0 ? 0 : kept_for_slots(r.max_pages());
    return kept - std::min(kept, slots);
}

namespace {

/// Maximum number of pages up to which the heap may grow the region.
u64 heap_limit(const region& r) {
    return r.max_pages() - still_kept_for_logs(r) - pages_kept_for_slots(r);
}

}  // namespace

u64 pages_left_for_log(const region& r, u16 owner, log_share share) {
    const u64 kept = kept_from_heap(r.max_pages());
    u64 in_logs = 0;
    bool has_one = false;
    bool zero_has_one = owner == 0;
    for (const segment& s : r.segments()) {
        if (s.kind != segment_kind::log) continue;
        in_logs += s.pages;
        has_one = has_one || s.owner == owner;
        zero_has_one = zero_has_one || s.owner == 0;
    }
    const u64 for_others =
        std::max<u64>(has_one && share == log_share::fair ? kept / 2 : 0, zero_has_one ? 0 : 1);
    const u64 left =
        std::min(r.max_pages() - r.size() / layout::page_size, kept - std::min(kept, in_logs));
    return left - std::min(left, for_others);
}

u64 pages_left_for_slots(const region& r) {
    const u64 taken = r.size() / page_size + still_kept_for_logs(r);
    return r.max_pages() - std::min(r.max_pages(), taken);
}

u64 first_size(u64 bytes, u64 max_size, u64 least) noexcept {
    if (max_size == 0) return std::max(bytes, least);
    if (bytes > max_size) return bytes;
    bytes = std::max(bytes, std::min(least, max_size));
    return std::min(bytes, max_size - kept_from_heap(max_size / page_size) * page_size);
}

u64 first_size_beside_slots(u64 bytes, u64 max_size) noexcept {
    if (max_size == 0 || bytes > max_size) return bytes;
    const u64 pages = max_size / page_size;
    const u64 kept = std::min(pages, kept_from_heap(pages) + kept_for_slots(pages));
    constexpr u64 least_pages = 2;  // a header and a segment
    return std::min(bytes, std::max(pages - kept, least_pages) * page_size);
}

// Tries smaller and smaller growths: near the limit, it should not grow page by page. But each
// attempt that a full disk refuses costs syncs.
result<segment> grow_heap(region& r, u64 least) {
    const u64 now = r.size() / page_size;
    const u64 limit = heap_limit(r);
    const u64 room = limit - std::min(limit, now);
    if (room < least) {
        return failure({errc::no_space, "grow the heap", r.path().string(),
                        "it needs " + std::to_string(least) + " pages of 64 KiB, and of " +
                            std::to_string(r.max_pages()) + " there are " + std::to_string(room) +
                            " left to it",
                        "remove records, or allow a larger maximal size"});
    }
    u64 ask = std::clamp(now / 8, min_growth_pages, max_growth_pages);
    ask = std::clamp(ask, least, room);
    for (;; ask = std::max(ask / 8, least)) {
        auto grown = r.grow(segment_kind::heap, ask, 0);
        if (grown || ask == least || grown.error().code != errc::no_space) return grown;
    }
}

error corrupt_heap(const region& r, u64 offset, std::string why) {
    return {errc::corrupt, "open the heap",
            r.path().string() + " at offset " + std::to_string(offset), std::move(why),
            "run `holdfast check` and restore the file from a copy"};
}

}  // namespace hf
