// hot/path.hpp: keys as the trie sees them: bits by position, the most significant bit of the first
// byte is bit 0.
//
// An integer has 64 bits. A byte string is treated as if it were padded with zeros to the maximum
// key length, and followed by its length in two bytes: so no key is a prefix of another, and the
// order is that of the strings. This form is never stored.
#pragma once

#include "index/common/keys.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace hf::hot_detail {

template <class Keys>
struct path_of;

template <>
struct path_of<integer_keys> {
    /// Whether all bits are in one window.
    static constexpr bool is_short = true;
    static constexpr u32 bits = 64;

    /// The 8 key bytes from `start` on, as a big-endian number.
    [[nodiscard]] static constexpr u64 window(u64 k, u32 /*start*/) noexcept { return k; }
    [[nodiscard]] static constexpr bool bit(u64 k, u32 at) noexcept {
        return (k >> (63 - at) & 1) != 0;
    }
    /// The position of the first different bit; `bits` if the keys are equal.
    [[nodiscard]] static constexpr u32 first_difference(u64 a, u64 b) noexcept {
        return static_cast<u32>(std::countl_zero(a ^ b));
    }
    [[nodiscard]] static constexpr int compare(u64 a, u64 b) noexcept {
        return a < b ? -1 : a > b ? 1 : 0;
    }
};

template <>
struct path_of<byte_keys> {
    static constexpr bool is_short = false;
    static constexpr u32 length_at = most_key_bytes;
    static constexpr u32 bits = 8 * (length_at + 2);
    static constexpr u32 last_window = length_at + 2 - 8;
    static_assert(last_window < 4096 && most_key_bytes < 65536);

    [[nodiscard, gnu::always_inline]] static u8 byte(std::string_view k, u32 at) noexcept {
        if (at < k.size()) [[likely]] {
            return static_cast<u8>(k[at]);
        }
        if (at < length_at) return 0;
        return static_cast<u8>(at == length_at ? k.size() >> 8 : k.size());
    }
    [[nodiscard, gnu::always_inline]] static u64 window(std::string_view k, u32 start) noexcept {
        u64 raw = 0;
        if (start + 8 <= k.size()) [[likely]] {
            std::memcpy(&raw, k.data() + start, 8);
            return __builtin_bswap64(raw);
        }
        for (u32 i = 0; i < 8; ++i) raw = raw << 8 | byte(k, start + i);
        return raw;
    }
    [[nodiscard]] static bool bit(std::string_view k, u32 at) noexcept {
        return (byte(k, at / 8) >> (7 - at % 8) & 1) != 0;
    }
    [[nodiscard]] static u32 first_difference(std::string_view a, std::string_view b) noexcept {
        const auto end = static_cast<u32>(std::min(a.size(), b.size()));
        u32 i = 0;
        for (; i + 8 <= end; i += 8) {
            const u64 x = window(a, i) ^ window(b, i);
            if (x != 0) return 8 * i + static_cast<u32>(std::countl_zero(x));
        }
        while (i < end && a[i] == b[i]) ++i;
        const std::string_view longer = a.size() > b.size() ? a : b;
        if (i == end) {
            while (i < longer.size() && longer[i] == 0) ++i;
            if (i == longer.size()) i = length_at;
        }
        for (; i < length_at + 2; ++i) {
            const u32 x = byte(a, i) ^ byte(b, i);
            if (x != 0) return 8 * i + static_cast<u32>(std::countl_zero(x)) - 24;
        }
        return bits;
    }
    [[nodiscard]] static int compare(std::string_view a, std::string_view b) noexcept {
        return a.compare(b);
    }
};

}  // namespace hf::hot_detail
