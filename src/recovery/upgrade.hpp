// recovery/upgrade.hpp: brings what rooms laid into a region to the formats of this program.
//
// Purpose. A region's superblock says which rooms laid bytes into it, and in which format version
//  (layout.hpp, the table of rooms). Who opens it says which it reads. Where the region is older,
//  steps change it, each from one version of one room to a later one; docs/upgrade.md has the
//  policy.
//
// Invariants.
//  I1 The table names a version only if all of the room's bytes are of it, but for a step that was
//     cut short: then they are of the version named, of the next, or some of each, and the step
//     that leads from one to the other accepts all three.
//     A step works in the pages that are there: it does not grow the region.
//  I2 Nothing else runs meanwhile, and the region was closed in order: no log waits to be applied.
// Persist order.
//  U1 all that a step changed is durable before the room's version is raised;
//  U2 the version is raised (region S1, S2) before the next step begins.
//  On the medium `file` memory is private, and the order holds in it. All steps reach the disk
//  with the session's first epoch, or none does.
// Recovery. Cut short, the next opening finds the version not raised, and runs the step again.
// Inspection. The steps run on the private copy, and nothing on the medium changes.
// Bad input. A room that the opener doesn't know, a newer version, an older one that no step leads
//  away from, and an older one in a region that was not closed in order: errc::incompatible, and
//  nothing has been changed.
#pragma once

#include "region/region.hpp"

#include <functional>
#include <span>
#include <string_view>

namespace hf {

struct upgrade_step {
    std::string_view room;
    u32 from;  ///< 0: the region has nothing of this room's
    u32 to;    ///< larger
    /// Can be run again on what it has left behind anywhere. Flushes what it stores, through
    /// region::med(); need not fence at its end.
    std::function<result<void>(region&)> run;
};

/// Changes nothing: whether all rooms of this region are known, and what is older can be upgraded.
[[nodiscard]] result<void> check_formats(const region& r,
                                         std::span<const layout::room_format> known,
                                         std::span<const upgrade_step> steps);

/// check_formats(), then the steps that are needed, room by room.
[[nodiscard]] result<void> upgrade(region& r, std::span<const layout::room_format> known,
                                   std::span<const upgrade_step> steps);

}  // namespace hf
