// targets/index/bwtree_cases.hpp: P-BwTree under the crash lab (eager_session.hpp): every operation
// and structure change, recoveries from crashes between two words, and threads.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& bwtree_cases();

}  // namespace hf::lab
