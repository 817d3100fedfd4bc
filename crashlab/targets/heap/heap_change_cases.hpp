// targets/heap/heap_change_cases.hpp: changes of a whole heap: an upgrade of a type, a repair.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description heap_upgrade_case();
[[nodiscard]] target_description heap_repair_case();

}  // namespace hf::lab
