// targets/region/upgrade_case.hpp: opening a region of older formats, which upgrades it.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description upgrade_case();

}  // namespace hf::lab
