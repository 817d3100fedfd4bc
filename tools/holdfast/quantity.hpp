// tools/holdfast/quantity.hpp: parses and prints sizes, durations and latencies.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hf::tool {

/// "4096", "64k", "1m", "2g", "1t" in bytes; units are powers of 1024, "mb" and "mib" are "m".
[[nodiscard]] std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;
/// "500us", "64ms", "1s"; whole numbers with a unit.
[[nodiscard]] std::optional<std::chrono::microseconds> parse_duration(
    std::string_view text) noexcept;
/// Nanoseconds, or the name of a preset (dram, pcm, sttm).
[[nodiscard]] std::optional<std::uint32_t> parse_latency(std::string_view text) noexcept;

/// "1.5 MiB"
[[nodiscard]] std::string human_size(std::uint64_t bytes);
/// "64 ms", "1.5 s"
[[nodiscard]] std::string human_duration(std::chrono::nanoseconds duration);
/// "1,234,567"
[[nodiscard]] std::string human_count(std::uint64_t n);
/// "12.3%", of a whole that may be 0.
[[nodiscard]] std::string human_share(std::uint64_t part, std::uint64_t whole);

}  // namespace hf::tool
