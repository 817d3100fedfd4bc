// section_graph/allowed_states.hpp: what a crash may leave of a small program (paper 003, section 2).
//
// The checker follows the specification alone: it divides the steps into units (outermost critical
// sections, and stores outside of them), finds happens-before between the units with vector clocks,
// enumerates every set of units that holds no unfinished one and all that its members depend on,
// and collects the values that the variables then have. It shares no code with src/section.
#pragma once

#include "section_graph/program.hpp"

#include <array>
#include <set>

namespace hf::test {

using values = std::array<u64, max_variables>;

/// The states that a crash after the first `count` steps may leave.
[[nodiscard]] std::set<values> allowed_states(const std::vector<step>& steps, std::size_t count);

/// The variables after these steps if nothing is undone.
[[nodiscard]] values final_state(const std::vector<step>& steps, std::size_t count);

}  // namespace hf::test
