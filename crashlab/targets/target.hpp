// targets/target.hpp: what the lab explores. The public part is holdfast/crashlab/target.hpp; here
// is what only this house has: targets on disks.
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

/// The power went at so many calls of the disks; the draw says what these had taken.
struct disk_finding {
    std::string what;
    u32 calls = 0;
    u32 draw = 0;
};

/// A target that is no region in memory, and explores itself: files on model disks (disk/).
class disk_target {
   public:
    virtual ~disk_target() = default;
    /// All crash points of the seed's run; `draws` images of each, or all there are.
    [[nodiscard]] virtual std::optional<disk_finding> explore(
        u64 seed, u64 draws, counts& counted, const std::function<bool()>& out_of_time) const = 0;
    /// `story`: if given, what the disks were asked, for the timeline.
    [[nodiscard]] virtual std::optional<std::string> replay(u64 seed, u32 calls, u32 draw,
                                                            disk_story* story) const = 0;
};

/// Of this house (targets/catalogue.cpp).
[[nodiscard]] const std::vector<target_description>& all_targets();

}  // namespace hf::lab
