// table_targets.hpp: the hash table of examples/converting as a target of the crash lab.
#pragma once

#include <holdfast/crashlab/target.hpp>

#include <vector>

namespace example {

[[nodiscard]] std::vector<hf::lab::target_description> table_cases();

}  // namespace example
