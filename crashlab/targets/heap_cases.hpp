// targets/heap_cases.hpp: objects, their pointers and their deaths (src/heap), in transactions.
//
// The model is what C++ has: shared_ptr and weak_ptr. Which transactions have committed is told by
// a list in the heap itself; what they did follows from their numbers. The judge: strict durability,
// objects as the model has them, and nothing that check() finds.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& heap_cases();

}  // namespace hf::lab
