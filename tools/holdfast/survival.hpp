// tools/holdfast/survival.hpp: one sentence about the crashes that a region survives.
#pragma once

#include <holdfast/options.hpp>

#include <string>

namespace hf::tool {

/// Survival means the state at the end of the last completed epoch. `flushes`: whether lines are
/// written back where the medium needs it.
[[nodiscard]] std::string survival_of(medium_kind medium, bool flushes);

}  // namespace hf::tool
