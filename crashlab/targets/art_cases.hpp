// targets/art_cases.hpp: P-ART under the crash lab (eager_session.hpp): every operation, every
// change of its shape, the states that a crash between two words leaves, and threads.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& art_cases();

}  // namespace hf::lab
