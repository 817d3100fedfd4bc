// checkpoint/superblock_areas.hpp: what the epochs and checkpointing keep in a region's superblock.
//
// On the medium. Two areas of the superblock, which region/ keeps and does not read. Both are zero
//  in a region that was made and had no session yet: its epochs begin where the epoch record says.
// Invariants. A1: the ranges of failed epochs are sorted, disjoint and not adjacent, and none is
//  empty. Whatever else is found there is errc::corrupt.
// Persist order. region S1, S2: both areas change with the superblock pair, whole or not at all.
#pragma once

#include "region/layout.hpp"

namespace hf {

inline constexpr layout::room_format epoch_format{"epoch", 1};
inline constexpr layout::room_format checkpoint_format{"checkpoint", 1};

/// Of the clock, whatever the discipline.
struct epoch_state {
    u64 first_epoch_of_session;
    u64 clean_epoch;  ///< of the last orderly close
};

inline constexpr unsigned max_failed_ranges = 200;

/// Failed epochs first to last, both included.
struct epoch_range {
    u64 first;
    u64 last;
    friend bool operator==(const epoch_range&, const epoch_range&) = default;
};

struct checkpoint_state {
    u64 last_pass_epoch;  ///< in which the last pass over all nodes began
    u32 failed_count;     ///< used entries of failed[]
    u32 reserved;
    epoch_range failed[max_failed_ranges];
};

static_assert(sizeof(epoch_state) == 16 && sizeof(epoch_state) <= layout::epoch_area_bytes);
static_assert(offsetof(checkpoint_state, failed_count) == 8);
static_assert(offsetof(checkpoint_state, failed) == 16);
static_assert(sizeof(checkpoint_state) == 3216);
static_assert(sizeof(checkpoint_state) <= layout::discipline_area_bytes);

[[nodiscard]] inline epoch_state epoch_state_of(const layout::superblock& s) noexcept {
    return layout::read_area<epoch_state>(s.epoch_area);
}
[[nodiscard]] inline checkpoint_state checkpoint_state_of(const layout::superblock& s) noexcept {
    return layout::read_area<checkpoint_state>(s.discipline_area);
}
/// A1.
[[nodiscard]] inline bool is_possible(const checkpoint_state& c) noexcept {
    if (c.failed_count > max_failed_ranges) return false;
    for (u32 i = 0; i < c.failed_count; ++i) {
        if (c.failed[i].first > c.failed[i].last) return false;
        if (i != 0 && c.failed[i].first <= c.failed[i - 1].last) return false;
    }
    return true;
}

/// Changes one of them; to be called in region::update_super().
template <class F>
void change_epoch_state(layout::superblock& s, F&& change) {
    epoch_state e = epoch_state_of(s);
    change(e);
    layout::write_area(s.epoch_area, e);
}
template <class F>
void change_checkpoint_state(layout::superblock& s, F&& change) {
    checkpoint_state c = checkpoint_state_of(s);
    change(c);
    layout::write_area(s.discipline_area, c);
}

}  // namespace hf
