// targets/in_place_case.hpp: transactions that store in place at once: with the end of its epoch
// what they stored is durable.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description in_place_case();

}  // namespace hf::lab
