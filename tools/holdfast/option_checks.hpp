// tools/holdfast/option_checks.hpp: what can be wrong with the value of an option.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>

namespace hf::tool {

// Quantities (quantity.hpp), within bounds.
[[nodiscard]] CLI::Validator size_between(std::uint64_t least, std::uint64_t most);
[[nodiscard]] CLI::Validator duration_between(std::chrono::microseconds least,
                                              std::chrono::microseconds most);
[[nodiscard]] CLI::Validator latency_up_to(std::uint32_t most);

/// Of IPv4 or IPv6.
[[nodiscard]] CLI::Validator numeric_address();
/// Of a file; what a shell makes of a variable that is not set is none.
[[nodiscard]] CLI::Validator some_name();

}  // namespace hf::tool
