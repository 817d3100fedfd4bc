#include "records.hpp"

#include "base/random.hpp"

#include <charconv>

namespace hf::power_test {

namespace {

constexpr u64 shortest = 10;

u64 length_of(xoshiro256ss& random) {
    switch (random.below(64)) {
        case 0:
            return shortest + random.below(48 << 10);
        case 1:
        case 2:
        case 3:
            return shortest + random.below(6 << 10);
        default:
            return shortest + random.below(300);
    }
}

}  // namespace

std::string key_text(const author& who, u32 key) {
    return "record/" + std::to_string(who.connection) + "/" + std::to_string(key);
}

std::string value_text(const author& who, u32 key, u64 version) {
    std::string text = std::to_string(version) + ":";
    xoshiro256ss random(
        splitmix64(who.seed ^ (u64{who.connection} << 56) ^ (u64{key} << 32) ^ version)());
    const u64 length = length_of(random);
    text.reserve(text.size() + length + sizeof(u64));
    for (const std::size_t end = text.size() + length; text.size() < end;) {
        // Printable, so that failures are readable.
        u64 word = random();
        for (unsigned i = 0; i < sizeof(u64) && text.size() < end; ++i, word >>= 8) {
            text.push_back(static_cast<char>('0' + word % 64));
        }
    }
    return text;
}

std::optional<u64> version_of(const author& who, u32 key, std::string_view value) {
    u64 version = 0;
    const auto end = std::from_chars(value.data(), value.data() + value.size(), version);
    if (end.ec != std::errc() || version == 0) return std::nullopt;
    return value_text(who, key, version) == value ? std::optional(version) : std::nullopt;
}

}  // namespace hf::power_test
