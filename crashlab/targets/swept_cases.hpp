// targets/swept_cases.hpp: the swept heap in a process after a killed one, in states
// that no index reaches by itself (eager_session.hpp).
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& swept_cases();
/// The swept heap with several threads (swept_thread_cases.cpp).
[[nodiscard]] const std::vector<target_description>& swept_thread_cases();

}  // namespace hf::lab
