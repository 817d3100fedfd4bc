// targets/section/graph/section_graph_cases.hpp: small lock-based programs in graph mode
// (section/graph).
//
// The steps of a program run one after the other, each in the lane of its thread, on one fiber: the
// order of stores, flushes and fences is explored, not the schedule. After a crash the variables
// must have one of the states that paper 003 allows (litmus/allowed_states.hpp), and sections that
// were reported as stable must be in it.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& section_graph_cases();

}  // namespace hf::lab
