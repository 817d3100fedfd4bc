// crashlab/seeded/board_target.hpp: a workload on the board (board.hpp), and its judge.
//
// A crash brings back the end of an epoch no older than the one announced, in every cell.
#pragma once

#include "crashlab/seeded/board.hpp"
#include "crashlab/targets/target.hpp"

namespace hf::lab::seeded {

/// Some epochs of puts into random cells; the last one is not ended.
[[nodiscard]] target_description board_case(bug b);

/// As board_case(), by two threads that alternate, with one lock for all of it.
[[nodiscard]] target_description board_for_two(bug b);

}  // namespace hf::lab::seeded
