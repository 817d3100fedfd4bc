// transaction/engine_kind.hpp: the commit engines' numbers, as a region's superblock has them.
//
// A new engine takes the next number here, and a row in engines.cpp. Tests, campaigns, benchmarks
// go through all_engines(), so that they run the new one without a change.
#pragma once

#include "base/bits.hpp"

#include <span>
#include <string_view>

namespace hf {

/// A number means the same for ever.
enum class engine_kind : u32 { redo = 1, undo = 2, shadow = 3 };

/// In the order of their numbers.
[[nodiscard]] std::span<const engine_kind> all_engines() noexcept;
/// "redo" and so on; "unknown" where there is no such engine.
[[nodiscard]] std::string_view to_string(engine_kind kind) noexcept;
[[nodiscard]] bool is_known(engine_kind kind) noexcept;

}  // namespace hf
