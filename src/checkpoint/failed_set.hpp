// failed_set.hpp: the epochs that a crash interrupted, and whose changes may still be in the
// region.
//
// Purpose. Changes of a failed epoch are undone at the first access (Cohen et al., ASPLOS
// 2019, section 4.3). An epoch stays in the set until a background pass has visited every node;
// several crashes before that make several ranges. The durable copy is in the superblock pair
// (region/layout.hpp); this one is in ordinary memory.
//
// Invariants. F1: ranges are sorted, disjoint and not adjacent. F2: the set never changes while
// operations run, except that it becomes empty when nothing in the region is stamped with it.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <vector>

namespace hf {

class failed_set {
   public:
    struct range {
        u64 first;
        u64 last;
    };

    [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
    [[nodiscard]] const std::vector<range>& ranges() const noexcept { return ranges_; }

    /// One more than the greatest failed epoch; 0 when there is none. Nothing stamped with an epoch
    /// at or above it needs recovery.
    [[nodiscard]] u64 horizon() const noexcept {
        return ranges_.empty() ? 0 : ranges_.back().last + 1;
    }

    [[nodiscard]] bool contains(u64 epoch) const noexcept {
        auto it = std::upper_bound(ranges_.begin(), ranges_.end(), epoch,
                                   [](u64 e, const range& r) { return e < r.first; });
        return it != ranges_.begin() && epoch <= std::prev(it)->last;
    }

    /// Adds an epoch greater than all in the set (epochs never decrease).
    void add(u64 epoch) {
        if (contains(epoch)) return;
        if (!ranges_.empty() && ranges_.back().last + 1 == epoch) {
            ranges_.back().last = epoch;
        } else {
            ranges_.push_back({epoch, epoch});
        }
    }

    /// Adds a range read from the superblock, in ascending order.
    void add_range(u64 first, u64 last) { ranges_.push_back({first, last}); }

    void clear() noexcept { ranges_.clear(); }

    [[nodiscard]] u64 count() const noexcept {
        u64 n = 0;
        for (const range& r : ranges_) n += r.last - r.first + 1;
        return n;
    }

   private:
    std::vector<range> ranges_;
};

}  // namespace hf
