// tools/holdfast/quantity_options.hpp: options that are a quantity (quantity.hpp), within bounds.
#pragma once

#include <chrono>
#include <cstdint>

#include <CLI/CLI.hpp>

namespace hf::tool {

[[nodiscard]] CLI::Validator size_between(std::uint64_t least, std::uint64_t most);
[[nodiscard]] CLI::Validator duration_between(std::chrono::microseconds least,
                                              std::chrono::microseconds most);
[[nodiscard]] CLI::Validator latency_up_to(std::uint32_t most);

}  // namespace hf::tool
