// masstree/formats.hpp: the format versions of all that lies in a region with a Masstree.
#pragma once

#include "alloc/geometry.hpp"
#include "checkpoint/checkpoint_area.hpp"
#include "checkpoint/heap/upgrade.hpp"
#include "epoch/epoch_area.hpp"
#include "recovery/upgrade.hpp"

namespace hf {

/// Of all that it lays into a region.
///  1  as the root's format 1
///  2  as the root's format 2
///  3  the heap counts the records (heap_root::counts_objects). Where it has not from the start,
///     the first opening counts them.
inline constexpr layout::room_format masstree_format{"masstree", 3};

/// Of nodes and records (node.hpp, record.hpp), as a root that leads to them says.
///  1  records have no checksum
///  2  they have one. A root of format 1 in a region that was upgraded leads to records of both
///     kinds.
inline constexpr u32 masstree_root_format = 2;
/// As 2, with leaves that have small values in themselves (inlined/leaf.hpp).
inline constexpr u32 inlined_root_format = 3;

/// A root of a format that this program reads.
[[nodiscard]] constexpr bool reads_root_format(u64 format) noexcept {
    return format == 1 || format == masstree_root_format || format == inlined_root_format;
}

/// A record without a checksum is one whose checksum is 0, and a count that is not kept says so:
/// nothing changes but what may follow.
inline const upgrade_step masstree_upgrades[] = {
    {masstree_format.name, 1, 3, [](region&) { return result<void>{}; }},
    {masstree_format.name, 2, 3, [](region&) { return result<void>{}; }},
    heap_upgrade};

/// What a region of the map's has, a store's records included: each program that reads one may find
/// the other's.
inline constexpr layout::room_format masstree_rooms[] = {
    epoch_format, checkpoint_format, alloc_format, masstree_format, {"store", 1}};

}  // namespace hf
