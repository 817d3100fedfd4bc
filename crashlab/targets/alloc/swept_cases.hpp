// targets/alloc/swept_cases.hpp: guarantees of the swept heap to a process that continues after a
// killed one, in cases that no index reaches (eager_session.hpp).
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& swept_cases();
/// Its guarantees to other threads (swept_thread_cases.cpp).
[[nodiscard]] const std::vector<target_description>& swept_thread_cases();

}  // namespace hf::lab
