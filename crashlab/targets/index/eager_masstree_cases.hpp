// targets/index/eager_masstree_cases.hpp: P-Masstree under the crash lab (eager_session.hpp): every
// operation, splits up to the root, layers, repairs, recovery with its sweep, and threads.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& eager_masstree_cases();

}  // namespace hf::lab
