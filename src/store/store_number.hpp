// store/store_number.hpp: decimal numbers as memcached's clients write them.
//
// Accepts the syntax of C's strtoull and strtoll: blanks, a sign, digits, and then the end, a NUL
// or a blank; anything after that blank is ignored. Clients depend on it ("10  " is what decr
// stores).
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string_view>

namespace hf::detail {

/// A number up to 2^64 - 1. A minus sign is accepted only if the result, modulo 2^64, is below
/// 2^63.
[[nodiscard]] std::optional<u64> parse_unsigned(std::string_view text) noexcept;

/// A number from -2^63 to 2^63 - 1.
[[nodiscard]] std::optional<std::int64_t> parse_signed(std::string_view text) noexcept;

/// Maximum digits of a 64-bit number.
inline constexpr std::size_t max_digits = 20;

/// Writes `value` to `buffer` and returns a view of it.
[[nodiscard]] std::string_view print_decimal(u64 value, char (&buffer)[max_digits]) noexcept;

}  // namespace hf::detail
