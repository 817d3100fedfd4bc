// targets/transaction_cases.hpp: transactions on a region's words and blocks, by either engine.
//
// The words record which transactions have committed, and in which order: each adds its number to a
// list that it reads first. Its number and the values it reads determine its effects.
// So the judge replays the list on a model, and requires that words and blocks equal the model's:
// this checks strict durability (every transaction that returned is in the list, every one in the
// list had begun) and serializability; and that the words own all allocated blocks, each once.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& transaction_cases();

}  // namespace hf::lab
