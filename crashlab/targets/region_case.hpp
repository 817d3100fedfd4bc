// targets/region_case.hpp: a region and nothing in it, whose process is killed: the next one works
// on the header and the length that it finds, and no other room fences in between.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description region_case();

}  // namespace hf::lab
