// targets/upgrade_case.hpp: an open that upgrades a region of older formats.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description upgrade_case();

}  // namespace hf::lab
