#include "undo/log_space.hpp"

#include "base/lock_order.hpp"

#include <algorithm>
#include <mutex>

namespace hf {

namespace {

constexpr u64 most_first_pages = 16;  // 1 MiB

/// Serialises additions; otherwise two threads could both take the last page. For all regions.
std::mutex adding;

/// Of what the heap leaves to logs, a sixteenth: other threads come, too.
u64 first_segment_pages(const region& r) {
    return std::clamp<u64>(kept_from_heap(r.max_pages()) / 16, 1, most_first_pages);
}

}  // namespace

void log_space::attach(region& r, u16 owner) {
    region_ = &r;
    owner_ = owner;
    segments_.clear();
    for (const segment& s : r.segments()) {
        if (s.kind == segment_kind::log && s.owner == owner) segments_.push_back(s);
    }
}

log_place log_space::place_for(log_place p, u64 bytes) const noexcept {
    while (p.segment < segments_.size() && room_at(p) < bytes) p = {p.segment + 1, 0};
    return p;
}

log_place log_space::after(log_place p, u64 bytes) const noexcept {
    while (bytes > room_at(p) && p.segment < segments_.size()) {
        bytes -= room_at(p);
        p = {p.segment + 1, 0};
    }
    return {p.segment, p.at + bytes};
}

u64 log_space::room_from(log_place p) const noexcept {
    u64 room = 0;
    for (; p.segment < segments_.size(); p = {p.segment + 1, 0}) room += room_at(p);
    return room;
}

result<void> log_space::add(u64 least_pages, log_share share) {
    const ranked_guard guard(lock_rank::log_segments, adding);
    const u64 most = left(share);
    if (most < least_pages || most == 0) {
        return failure({errc::no_space, "make a log longer", region_->path().string(),
                        "the pages that are left are for the logs of other threads",
                        "end the epoch, or allow a larger maximal size"});
    }
    u64 pages = segments_.empty() ? first_segment_pages(*region_)
                                  : std::min(2 * segments_.back().pages, max_segment_pages_);
    pages = std::min(std::max(pages, least_pages), most);
    for (;; pages = std::max(pages / 4, std::max<u64>(least_pages, 1))) {
        auto grown = region_->grow(segment_kind::log, pages, owner_);
        if (grown) {
            segments_.push_back(*grown);
            return {};
        }
        if (pages <= std::max<u64>(least_pages, 1) || grown.error().code != errc::no_space) {
            return tl::unexpected(grown.error());
        }
    }
}

u64 log_space::room_with(log_place p, log_share share, u64 enough) const {
    const u64 room = room_from(p);
    return room >= enough ? room : room + left(share) * layout::page_size;
}

result<void> log_space::add_until(log_place p, u64 bytes, log_share share) {
    for (u64 room = room_from(p); room < bytes; room = room_from(p)) {
        const u64 pages = (bytes - room + layout::page_size - 1) / layout::page_size;
        // In one segment, or in several where the file system has no room for that.
        auto added = add(pages, share);
        if (!added && added.error().code == errc::no_space) added = add(1, share);
        if (!added) return added;
    }
    return {};
}

}  // namespace hf
