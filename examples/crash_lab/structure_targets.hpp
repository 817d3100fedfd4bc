// structure_targets.hpp: the queue and the hash map of examples/checkpoint, and a logged object, as
// targets of the crash lab.
#pragma once

#include <holdfast/crashlab/target.hpp>

#include <vector>

namespace example {

[[nodiscard]] std::vector<hf::lab::target_description> structure_cases();

}  // namespace example
