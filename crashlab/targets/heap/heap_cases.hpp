// targets/heap/heap_cases.hpp: objects in transactions, their pointers and their destruction
// (src/heap).
//
// The model uses shared_ptr and weak_ptr. A list in the heap contains the committed transactions;
// their actions follow from their numbers. The judge requires strict durability, objects that equal
// the model's, and a check() without findings.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& heap_cases();

}  // namespace hf::lab
