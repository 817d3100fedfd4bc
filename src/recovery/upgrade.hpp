// recovery/upgrade.hpp: converts the rooms' bytes in a region to the formats of this program.
//
// Purpose. A region's superblock lists the rooms that wrote bytes into it, with their format
//  versions (layout.hpp, the table of rooms). The opener declares the versions that it reads. If
//  the region is older, steps change it, each from one version of one room to a later one;
//  docs/upgrade.md has the policy.
//
// Invariants.
//  I1 The table names a version only if all of the room's bytes are of it, except for an
//     interrupted step: then they are of the version named, of the next, or some of each, and the
//     step between the two accepts all three.
//     A step works in existing pages: it does not grow the region.
//  I2 Nothing else runs meanwhile, and the region was closed in order: no log has to be applied.
// Persist order.
//  U1 all changes of a step are durable before the room's version is raised;
//  U2 the version is raised (region S1, S2) before the next step begins.
//  On the medium `file` memory is private, and the order holds in it. All steps reach the disk
//  with the session's first epoch, or none does.
// Recovery. After an interruption the next open finds the version not raised, and repeats the step.
// Inspection. The steps run on the private copy, and nothing on the medium changes.
// Bad input. An unknown room, a newer version, an older one without a step, and an older one in a
//  region that was not closed in order: errc::incompatible, and nothing
//  is changed.
#pragma once

#include "region/region.hpp"

#include <functional>
#include <span>
#include <string_view>

namespace hf {

struct upgrade_step {
    std::string_view room;
    u32 from;  ///< 0: the region has no bytes of this room
    u32 to;    ///< larger
    /// Must accept any partial result of its own. Flushes what it stores, through
    /// region::med(); need not fence at its end.
    std::function<result<void>(region&)> run;
};

/// Checks that all rooms of this region are known and can be upgraded. Changes nothing.
[[nodiscard]] result<void> check_formats(const region& r,
                                         std::span<const layout::room_format> known,
                                         std::span<const upgrade_step> steps);

/// check_formats(), then the necessary steps, room by room.
[[nodiscard]] result<void> upgrade(region& r, std::span<const layout::room_format> known,
                                   std::span<const upgrade_step> steps);

}  // namespace hf
