// targets/image/in_place_case.hpp: transactions that store in place immediately: their stores are
// durable at the end of their epoch.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description in_place_case();

}  // namespace hf::lab
