// targets/region/region_case.hpp: an empty region whose process is killed: the next process works
// with the header and the length that it finds, without a fence of any other part of the code in
// between.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description region_case();

}  // namespace hf::lab
