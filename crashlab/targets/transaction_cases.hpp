// targets/transaction_cases.hpp: transactions on a region's words and blocks, by either engine.
//
// The words say which transactions have committed, and in which order: each adds its number to a
// list that it reads first. What a transaction does follows from its number and from what it finds.
// So the judge replays the list on a model, and demands that words and blocks are the model's: that
// is strict durability (what returned is in the list, what is in the list has begun) and
// serializability at once; and that the heap is owned by the words, no byte more, none twice.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& transaction_cases();

}  // namespace hf::lab
