// targets/plain/plain_cases.hpp: transactions on plain memory (src/plain): commits and aborts of
// plain stores, openings after crashes, consolidation, growth.
//
// Each transaction adds its number to a list in the memory, and its stores follow from its number.
// So the judge replays the list on a model, and requires that each transaction that has returned is
// listed, that each that is listed has begun and was not to abort, and that every word is as the
// listed ones left it.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& plain_cases();

}  // namespace hf::lab
