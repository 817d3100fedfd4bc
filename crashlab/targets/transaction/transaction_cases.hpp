// targets/transaction/transaction_cases.hpp: transactions on a region's words and blocks, by either
// engine.
//
// The words record the order of the committed transactions: each adds its number to a list that it
// has read first. A transaction's actions follow from its number and the values it reads. So the
// judge replays the list on a model and compares words and blocks. That checks strict durability
// (each returned transaction is in the list, each listed one has begun) and serializability. It
// also requires that the words own each allocated byte of the heap exactly once.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& transaction_cases();

}  // namespace hf::lab
