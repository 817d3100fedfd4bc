// targets/in_place_case.hpp: transactions that store to the home location at once: their stores are
// durable with the end of their epoch.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description in_place_case();

}  // namespace hf::lab
