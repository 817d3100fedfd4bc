// targets/index/hot_cases.hpp: P-HOT under the crash lab (eager_session.hpp): every operation and
// structure change, recovery with its sweep, and threads.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& hot_cases();

}  // namespace hf::lab
