// tools/holdfast/option_checks.hpp: validators for the values of options.
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

/// An IPv4 or IPv6 address.
[[nodiscard]] CLI::Validator numeric_address();
/// A file name; the empty string, e.g. from an unset variable of a shell, is rejected.
[[nodiscard]] CLI::Validator some_name();

}  // namespace hf::tool
