// store/store_number.hpp: decimal numbers as memcached's clients may write them.
//
// Accepted, as C's strtoull and strtoll would: blanks, a sign, digits, and then the end, a NUL or a
// blank; what follows that blank is ignored. Clients depend on it ("10  " is what decr leaves
// behind).
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string_view>

namespace hf::detail {

/// A number up to 2^64 - 1. A minus sign is accepted only where the result, modulo 2^64, is below
/// 2^63.
[[nodiscard]] std::optional<u64> parse_unsigned(std::string_view text) noexcept;

/// A number from -2^63 to 2^63 - 1.
[[nodiscard]] std::optional<std::int64_t> parse_signed(std::string_view text) noexcept;

/// Longest decimal number of 64 bits.
inline constexpr std::size_t max_digits = 20;

/// Writes `value` and returns what was written.
[[nodiscard]] std::string_view print_decimal(u64 value, char (&buffer)[max_digits]) noexcept;

}  // namespace hf::detail
