// tests/power/records.hpp: keys and values that tell on their own whether they are what was sent.
//
// A value follows from its connection, its key and its version, down to the last byte. Versions are
// never used twice, not even those of writes that a power cut took: so a value that is found says
// which write it comes from.
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hf::power_test {

/// Whose writes they are: no two connections write the same key.
struct author {
    u64 seed = 0;
    u32 connection = 0;
};

[[nodiscard]] std::string key_text(const author& who, u32 key);
/// From some ten bytes to 48 KiB; most are short.
[[nodiscard]] std::string value_text(const author& who, u32 key, u64 version);
/// Of a value that is exactly what was sent for this key; nullopt: it is not.
[[nodiscard]] std::optional<u64> version_of(const author& who, u32 key, std::string_view value);

}  // namespace hf::power_test
