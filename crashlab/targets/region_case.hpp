// targets/region_case.hpp: an empty region whose process is killed: the next process uses
// the header and the length that it finds, and no other room fences in between.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description region_case();

}  // namespace hf::lab
