// targets/committed_cases.hpp: transactions on the committed heap, each with a commit record of a
// minimal log (commit_log.hpp).
//
// A thread's blocks are listed in slots, words in its log's second page. After a crash a
// thread's slots must be those after one of its transactions, not before the last promised one;
// and the slots must own all allocated blocks of the heap, each once.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& committed_cases();

}  // namespace hf::lab
