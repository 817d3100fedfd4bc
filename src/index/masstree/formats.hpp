// masstree/formats.hpp: the format versions of all data in a region with a Masstree.
#pragma once

#include "alloc/geometry.hpp"
#include "checkpoint/checkpoint_area.hpp"
#include "checkpoint/heap/upgrade.hpp"
#include "epoch/epoch_area.hpp"
#include "recovery/upgrade.hpp"

namespace hf {

/// The room's format in a region:
///  1  the root's format 1
///  2  the root's format 2
///  3  the heap counts the records (heap_root::counts_objects). If it has not done so from the
///     start, open() counts them once.
inline constexpr layout::room_format masstree_format{"masstree", 3};

/// The format of nodes and records (node.hpp, record.hpp), stored in the tree's root:
///  1  records have no checksum
///  2  records have a checksum. A root of format 1 in an upgraded region refers to records of both
///     kinds.
inline constexpr u32 masstree_root_format = 2;
/// Format 2 with small values in the leaves (inlined/leaf.hpp).
inline constexpr u32 inlined_root_format = 3;

/// True for a root format that this program can read.
[[nodiscard]] constexpr bool reads_root_format(u64 format) noexcept {
    return format == 1 || format == masstree_root_format || format == inlined_root_format;
}

/// No data changes: a record without a checksum has the checksum 0, and the heap root says whether
/// records are counted.
inline const upgrade_step masstree_upgrades[] = {
    {masstree_format.name, 1, 3, [](region&) { return result<void>{}; }},
    {masstree_format.name, 2, 3, [](region&) { return result<void>{}; }},
    heap_upgrade};

/// The formats in a map's or a store's region: each program may open the other's.
inline constexpr layout::room_format masstree_rooms[] = {
    epoch_format, checkpoint_format, alloc_format, masstree_format, {"store", 1}};

}  // namespace hf
