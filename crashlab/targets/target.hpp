// targets/target.hpp: the internal part of targets: targets on disks. The public part is
// holdfast/crashlab/target.hpp.
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

/// The number of disk calls before the power cut, and the draw that determines what they left.
struct disk_finding {
    std::string what;
    u32 calls = 0;
    u32 draw = 0;
};

/// A target without a region in memory, which explores itself: files on model disks (disk/).
class disk_target {
   public:
    virtual ~disk_target() = default;
    /// Explores all crash points of the seed's run; `draws` images of each, or all if fewer.
    [[nodiscard]] virtual std::optional<disk_finding> explore(
        u64 seed, u64 draws, counts& counted, const std::function<bool()>& out_of_time) const = 0;
    /// `story`, if given, records the calls of the disks, for the timeline.
    [[nodiscard]] virtual std::optional<std::string> replay(u64 seed, u32 calls, u32 draw,
                                                            disk_story* story) const = 0;
};

/// The targets of this project (targets/catalogue.cpp).
[[nodiscard]] const std::vector<target_description>& all_targets();

}  // namespace hf::lab
