// epoch/epoch_area.hpp: what the epochs keep in a region's superblock, whatever the discipline.
//
// On the medium. An area of the superblock, which region/ keeps and does not read. It is zero in a
//  region that was made and had no session yet: its epochs begin where the epoch record says.
// Persist order. region S1, S2: it changes with the superblock pair, whole or not at all.
#pragma once

#include "region/layout.hpp"

namespace hf {

inline constexpr layout::room_format epoch_format{"epoch", 1};

/// No region reaches it: at a million epochs a second in two thousand years. A greater number in a
/// file is damage, however right its checksum is, and counting on from it would wrap.
inline constexpr u64 max_epoch = u64{1} << 56;

struct epoch_area {
    u64 first_epoch_of_session;
    u64 clean_epoch;  ///< of the last orderly close
};
static_assert(sizeof(epoch_area) == 16 && sizeof(epoch_area) <= layout::epoch_area_bytes);

[[nodiscard]] inline epoch_area epoch_area_of(const layout::superblock& s) noexcept {
    return layout::read_area<epoch_area>(s.epoch_area);
}
/// To be called in region::update_super().
template <class F>
void change_epoch_area(layout::superblock& s, F&& change) {
    epoch_area e = epoch_area_of(s);
    change(e);
    layout::write_area(s.epoch_area, e);
}

}  // namespace hf
