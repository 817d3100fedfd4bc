// art/path.hpp: keys as the tree's descents see them: single bytes, and several bytes at a time.
//
// path_of<Keys> extends index/common/keys.hpp. chunk() returns some bytes as one big-endian number,
// so prefixes are compared by one comparison, in key order. first_difference() returns the index of
// the first different byte of two keys; if one is a prefix of the other, the length of the shorter.
// Integers have a path of their own: no key is a prefix of another, and a node's word has room for
// all bytes of a prefix.
#pragma once

#include "index/common/keys.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

namespace hf::art_detail {

template <class Keys>
struct path_of;

template <>
struct path_of<integer_keys> {
    /// Whether a key can be a prefix of another.
    static constexpr bool can_end = false;
    /// Bytes of a prefix that are stored in a node's word, beside level and length.
    static constexpr u32 stored_bytes = 7;
    static constexpr unsigned level_bits = 4;

    [[nodiscard]] static constexpr u32 length(u64 /*k*/) noexcept { return 8; }
    [[nodiscard]] static constexpr u8 at(u64 k, u32 i) noexcept {
        return static_cast<u8>(k >> ((56 - 8 * i) & 63));  // a damaged level may be out of range
    }
    /// Bytes [from, from + n), all within the key; n <= stored_bytes.
    [[nodiscard]] static constexpr u64 chunk(u64 k, u32 from, u32 n) noexcept {
        return n == 0 ? 0 : (k << (8 * from)) >> (64 - 8 * n);
    }
    [[nodiscard]] static constexpr u32 first_difference(u64 a, u64 b) noexcept {
        return static_cast<u32>(std::countl_zero(a ^ b)) / 8;
    }
    /// Three-way comparison: negative, 0 or positive.
    [[nodiscard]] static constexpr int compare(u64 a, u64 b) noexcept {
        return a < b ? -1 : a > b ? 1 : 0;
    }
};

template <>
struct path_of<byte_keys> {
    static constexpr bool can_end = true;
    static constexpr u32 stored_bytes = 4;
    static constexpr unsigned level_bits = 13;
    static_assert(most_key_bytes < (1U << level_bits));

    [[nodiscard]] static u32 length(std::string_view k) noexcept {
        return static_cast<u32>(k.size());
    }
    [[nodiscard]] static u8 at(std::string_view k, u32 i) noexcept { return static_cast<u8>(k[i]); }
    [[nodiscard]] static u64 chunk(std::string_view k, u32 from, u32 n) noexcept {
        u64 all = 0;
        for (u32 i = 0; i < n; ++i) all = all << 8 | static_cast<u8>(k[from + i]);
        return all;
    }
    [[nodiscard]] static u32 first_difference(std::string_view a, std::string_view b) noexcept {
        const auto end = static_cast<u32>(std::min(a.size(), b.size()));
        u32 i = 0;
        for (; i + 8 <= end; i += 8) {
            u64 x = 0;
            u64 y = 0;
            std::memcpy(&x, a.data() + i, 8);
            std::memcpy(&y, b.data() + i, 8);
            if (x != y) return i + static_cast<u32>(std::countr_zero(x ^ y)) / 8;
        }
        while (i < end && a[i] == b[i]) ++i;
        return i;
    }
    [[nodiscard]] static int compare(std::string_view a, std::string_view b) noexcept {
        return a.compare(b);
    }
};

}  // namespace hf::art_detail
