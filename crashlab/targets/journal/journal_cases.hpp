// targets/journal/journal_cases.hpp: the redo journal of the medium `file`, on model disks.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& journal_cases();

}  // namespace hf::lab
