// tools/holdfast/survival.hpp: one sentence on which crashes a region survives.
#pragma once

#include <holdfast/options.hpp>

#include <string>

namespace hf::tool {

/// The surviving state is the end of the last completed epoch. `flushes`: whether lines are flushed
/// where the medium requires it.
[[nodiscard]] std::string survival_of(medium_kind medium, bool flushes);

}  // namespace hf::tool
