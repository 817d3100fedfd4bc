// masstree/formats.hpp: the format versions of all that lies in a region with a Masstree.
#pragma once

#include "alloc/geometry.hpp"
#include "checkpoint/checkpoint_area.hpp"
#include "epoch/epoch_area.hpp"

namespace hf {

/// Of nodes and records (node.hpp, record.hpp), and of a root that leads to them.
inline constexpr layout::room_format masstree_format{"masstree", 1};

/// What a region of the map's has, a store's records included: each program that reads one may find
/// the other's.
inline constexpr layout::room_format masstree_rooms[] = {
    epoch_format, checkpoint_format, alloc_format, masstree_format, {"store", 1}};

}  // namespace hf
