// targets/heap_cases.hpp: transactions on objects, their pointers and their destruction (src/heap).
//
// The model uses C++'s shared_ptr and weak_ptr. A list in the heap itself records which
// transactions have committed; their numbers determine their effects. The judge requires strict
// durability, objects equal to the model's, and no findings of check().
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& heap_cases();

}  // namespace hf::lab
