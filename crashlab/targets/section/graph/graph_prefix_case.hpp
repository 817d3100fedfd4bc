// targets/section/graph/graph_prefix_case.hpp: stores outside of sections that need no undo entry,
// some of them across a line's end (section/graph, G7).
//
// One thread stores round after round: a flag in one line, a pair of words that lies in this line
// and the one before, a last word in the one before; in every other round the pair first. The words
// after a crash must hold a prefix of these stores, of whose last one any part may be there, with
// all that was stable.
#pragma once

#include "crashlab/targets/target.hpp"

namespace hf::lab {

[[nodiscard]] target_description graph_prefix_case();

}  // namespace hf::lab
