// tests/programs/made_up/lab_target.hpp: the counter as a target of the crash lab.
#pragma once

#include <holdfast/crashlab/target.hpp>

namespace made_up {

[[nodiscard]] hf::lab::target_description counter_case();

}  // namespace made_up
