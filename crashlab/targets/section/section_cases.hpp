// targets/section/section_cases.hpp: groups of regions with stores in place, by the undo log of
// lines.
//
// Recovery is section::group::open() on the lab's file, unchanged. The recovered words and
// blocks must be those at the end of one epoch, no older than the newest epoch that was announced.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& section_cases();

}  // namespace hf::lab
