// targets/index/art_cases.hpp: P-ART under the crash lab (eager_session.hpp): every operation and
// structure change, recoveries from crashes between two words, and threads.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& art_cases();

}  // namespace hf::lab
