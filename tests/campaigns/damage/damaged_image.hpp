// damage/damaged_image.hpp: the image that belongs to a number.
#pragma once

#include "damage/edits.hpp"
#include "damage/places.hpp"
#include "damage/victim.hpp"

#include <string>
#include <vector>

namespace hf::damage_test {

/// A victim, with the places of its data structures.
struct target {
    victim v;
    places where;
    unsigned share = 1;  ///< share of the images
};

/// The regions that a campaign damages, made in `file`: "epochs", "eager", "all", or those of one
/// eager index.
[[nodiscard]] std::vector<target> make_targets(image_file& file, u64 seed,
                                               const std::string& regions);

struct damaged_image {
    const victim* v = nullptr;
    part hit = part::anything;  ///< by the first edit
    std::vector<edit> edits;
    u64 seed = 0;            ///< for the operations on it
    bool is_sealed = false;  ///< no checksum tells of the damage, so any answer is right

    [[nodiscard]] std::string describe() const;
};

[[nodiscard]] damaged_image draw(const std::vector<target>& targets, u64 seed, u64 number);

}  // namespace hf::damage_test
