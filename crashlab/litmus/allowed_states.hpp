// litmus/allowed_states.hpp: the states of a small program after a crash (paper 003, section 2).
//
// The checker follows the specification alone: it divides the steps into units (outermost critical
// sections, and stores outside of them), finds happens-before between the units with vector clocks,
// enumerates every set of units that holds no unfinished one and all that its members depend on,
// and collects the values that the variables then have. It shares no code with src/section.
#pragma once

#include "crashlab/litmus/program.hpp"

#include <array>
#include <set>

namespace hf::litmus {

using values = std::array<u64, max_variables>;

/// Beyond the steps themselves.
struct circumstances {
    values at_first{};       ///< of the variables
    std::size_t stable = 0;  ///< units that had finished after this many steps must be kept
};

/// The states that a crash after the first `count` steps may leave.
[[nodiscard]] std::set<values> allowed_states(const std::vector<step>& steps, std::size_t count,
                                              const circumstances& with = {});

/// The variables after these steps if nothing is undone.
[[nodiscard]] values final_state(const std::vector<step>& steps, std::size_t count);

}  // namespace hf::litmus
