// tests/campaigns/power/records.hpp: keys and values that identify their write.
//
// A value follows from its connection, its key and its version, to the last byte. Versions are
// unique, including those of writes that a power failure has undone, so a value that is found
// identifies its write.
#pragma once

#include "base/bits.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hf::power_test {

/// A connection; no two connections write the same key.
struct author {
    u64 seed = 0;
    u32 connection = 0;
};

[[nodiscard]] std::string key_text(const author& who, u32 key);
/// From about ten bytes to 48 KiB; most are short.
[[nodiscard]] std::string value_text(const author& who, u32 key, u64 version);
/// The version of a value that was sent for this key; nullopt: it was not.
[[nodiscard]] std::optional<u64> version_of(const author& who, u32 key, std::string_view value);

}  // namespace hf::power_test
