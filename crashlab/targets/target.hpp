// targets/target.hpp: the lab's targets. The public part is holdfast/crashlab/target.hpp; this file
// adds targets on disks, which only this project has.
#pragma once

#include <holdfast/crashlab/target.hpp>

#include "base/bits.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hf::lab {

struct counts;
struct disk_story;

/// A violation after a power failure at these numbers of disk calls; `draw` selects the durable
/// writes.
struct disk_finding {
    std::string what;
    u32 calls = 0;
    u32 draw = 0;
};

/// A target that explores itself, without a region in memory: files on model disks (disk/).
class disk_target {
   public:
    virtual ~disk_target() = default;
    /// Tries all crash points of the seed's run, with `draws` images each, or all if there are
    /// fewer.
    [[nodiscard]] virtual std::optional<disk_finding> explore(
        u64 seed, u64 draws, counts& counted, const std::function<bool()>& out_of_time) const = 0;
    /// `story`: if given, records the disk calls for the timeline.
    [[nodiscard]] virtual std::optional<std::string> replay(u64 seed, u32 calls, u32 draw,
                                                            disk_story* story) const = 0;
};

/// The project's targets (targets/catalogue.cpp).
[[nodiscard]] const std::vector<target_description>& all_targets();

}  // namespace hf::lab
