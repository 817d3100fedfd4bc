// targets/committed_cases.hpp: transactions on the committed heap, each with a commit record of the
// smallest log there is (commit_log.hpp).
//
// What a thread owns is said by slots, which are words in its log's second page. After a crash a
// thread's slots must be those of one of its transactions, not before the last that was promised,
// and the heap must be owned by them, no byte more, none twice.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& committed_cases();

}  // namespace hf::lab
