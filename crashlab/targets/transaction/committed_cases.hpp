// targets/transaction/committed_cases.hpp: transactions on the committed heap, each with a commit
// record in the smallest possible log (commit_log.hpp).
//
// The blocks of a thread are named by slots, which are words in its log's second page. After a
// crash a thread's slots must be those of one of its transactions, not older than the last promised
// one, and the slots must own each allocated byte of the heap exactly once.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& committed_cases();

}  // namespace hf::lab
