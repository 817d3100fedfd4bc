// undo/log_space.hpp: the segments of the region in which one lane's log lies.
//
// Purpose. The undo log (undo_log.hpp) and the commit log (transaction/commit_log.hpp) both write
// entries one after the other into segments of kind log that their lane owns. This class finds
// these segments again, and adds one when they are full.
//
// On the medium. Segments of the region's directory, kind log, owner = the lane's index.
//
// Full region. All logs together have what the heap leaves to them (kept_from_heap(),
// alloc/geometry.hpp). Half of that is for lanes that have no log yet, and the last page for lane
// 0, whose log serves the threads that found no room for one of their own. With log_share::all an
// entry that finds no room otherwise takes the half of the others, too.
//
// Concurrency. One thread at a time; additions are serialised.
#pragma once

#include <holdfast/result.hpp>

#include "alloc/geometry.hpp"
#include "base/bits.hpp"
#include "region/region.hpp"

#include <span>
#include <vector>

namespace hf {

/// Where the next entry goes. segment == the number of segments: a new one is needed.
struct log_place {
    std::size_t segment = 0;
    u64 at = 0;  ///< bytes from the segment's start
};

class log_space {
   public:
    /// No segment is made longer than that, unless one entry needs it.
    explicit log_space(u64 max_segment_pages) noexcept : max_segment_pages_(max_segment_pages) {}

    /// Takes over the segments of lane `owner`, found in the region's directory.
    void attach(region& r, u16 owner);

    [[nodiscard]] const std::vector<segment>& segments() const noexcept { return segments_; }
    [[nodiscard]] bool empty() const noexcept { return segments_.empty(); }
    /// Bytes from a place to the end of its segment; 0 past the last segment.
    [[nodiscard]] u64 room_at(log_place p) const noexcept {
        return p.segment < segments_.size() ? segments_[p.segment].bytes() - p.at : 0;
    }
    /// Where `bytes` fit in one piece at `p` or later; past the last segment: nowhere.
    [[nodiscard]] log_place place_for(log_place p, u64 bytes) const noexcept;
    /// The place `bytes` after `p`, across the ends of segments.
    [[nodiscard]] log_place after(log_place p, u64 bytes) const noexcept;

    /// Adds a segment of at least `least_pages`: twice as long as the last one, if that many pages
    /// are left. errc::no_space: they are not left, and nothing has changed.
    [[nodiscard]] result<void> add(u64 least_pages, log_share share = log_share::fair);
    /// Adds segments until `bytes` follow `p` in all segments together. errc::no_space: the
    /// segments that were added stay.
    [[nodiscard]] result<void> add_until(log_place p, u64 bytes, log_share share);

    /// Bytes from `p` to the end of the last segment, those that add_until() could add included.
    /// Looks no further than `enough`.
    [[nodiscard]] u64 room_with(log_place p, log_share share, u64 enough = ~u64{0}) const;
    [[nodiscard]] u16 owner() const noexcept { return owner_; }

   private:
    [[nodiscard]] u64 left(log_share share) const {
        return pages_left_for_log(*region_, owner_, share);
    }
    [[nodiscard]] u64 room_from(log_place p) const noexcept;

    const u64 max_segment_pages_;
    region* region_ = nullptr;
    u16 owner_ = 0;
    std::vector<segment> segments_;
};

}  // namespace hf
