// checkpoint/checkpoint_area.hpp: the state of checkpointing in a region's superblock.
//
// On the medium. The discipline's area of the superblock, which region/ stores and does not read.
//  It is zero in a new region before its first session.
// Invariants. A1: the ranges of failed epochs are sorted, disjoint and not adjacent, and none is
//  empty. Anything else is errc::corrupt.
// Persist order. region S1, S2: it changes with the superblock pair, completely or not at all.
#pragma once

#include "region/layout.hpp"

#include <array>

namespace hf {

inline constexpr layout::room_format checkpoint_format{"checkpoint", 1};

inline constexpr unsigned max_failed_ranges = 200;

/// Failed epochs first to last, both included.
struct epoch_range {
    u64 first;
    u64 last;
    friend bool operator==(const epoch_range&, const epoch_range&) = default;
};

struct checkpoint_area {
    u64 last_pass_epoch;  ///< epoch in which the last pass over all nodes began
    u32 failed_count;     ///< used entries of failed[]
    u32 reserved;
    std::array<epoch_range, max_failed_ranges> failed;
};

static_assert(offsetof(checkpoint_area, failed_count) == 8);
static_assert(offsetof(checkpoint_area, failed) == 16);
static_assert(sizeof(checkpoint_area) == 3216);
static_assert(sizeof(checkpoint_area) <= layout::discipline_area_bytes);

[[nodiscard]] inline checkpoint_area checkpoint_area_of(const layout::superblock& s) noexcept {
    return layout::read_area<checkpoint_area>(s.discipline_area);
}
/// Checks A1.
[[nodiscard]] inline bool is_possible(const checkpoint_area& c) noexcept {
    if (c.failed_count > max_failed_ranges) return false;
    for (u32 i = 0; i < c.failed_count; ++i) {
        if (c.failed[i].first > c.failed[i].last) return false;
        if (i == 0) continue;
        const u64 before = c.failed[i - 1].last;
        if (c.failed[i].first <= before || c.failed[i].first == before + 1) return false;
    }
    return true;
}

/// To be called within region::update_super().
template <class F>
void change_checkpoint_area(layout::superblock& s, F&& change) {
    checkpoint_area c = checkpoint_area_of(s);
    change(c);
    layout::write_area(s.discipline_area, c);
}

}  // namespace hf
