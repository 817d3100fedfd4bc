// targets/section_cases.hpp: groups of regions with stores in place, by the undo log of lines.
//
// Recovery is section::group::open() on the lab's file, unchanged. What comes back must be the state
// at the end of one epoch, no older than the newest that was announced, to the word and to the block.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& section_cases();

}  // namespace hf::lab
