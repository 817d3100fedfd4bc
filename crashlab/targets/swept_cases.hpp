// targets/swept_cases.hpp: what the swept heap owes to a process that goes on behind a killed one,
// and no index comes to by itself (eager_session.hpp).
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& swept_cases();
/// What it owes to other threads (swept_thread_cases.cpp).
[[nodiscard]] const std::vector<target_description>& swept_thread_cases();

}  // namespace hf::lab
