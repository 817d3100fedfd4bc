// targets/index/clht_cases.hpp: P-CLHT under the crash lab (eager_session.hpp), with chunks of four
// buckets, so that it grows with a few keys.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& clht_cases();

}  // namespace hf::lab
