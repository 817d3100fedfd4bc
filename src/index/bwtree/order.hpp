// bwtree/order.hpp: key order: an eight-byte head, and the rest of the key where heads are equal.
//
// The head of an integer is the integer. The head of a byte string is its first eight bytes,
// big-endian, padded with zeros. Heads are ordered like the keys; different keys may have equal
// heads.
#pragma once

#include "index/common/keys.hpp"

#include <algorithm>

namespace hf::bwtree_detail {

template <class Keys>
struct order_of;

template <>
struct order_of<integer_keys> {
    static constexpr bool exact = true;
    [[nodiscard]] static u64 head(u64 k) noexcept { return k; }
    [[nodiscard]] static std::string_view bytes(u64) noexcept { return {}; }
    /// A separator: a key above `low` and not above `high`.
    [[nodiscard]] static u64 between(u64, u64 high) noexcept { return high; }
};

template <>
struct order_of<byte_keys> {
    static constexpr bool exact = false;
    [[nodiscard]] static u64 head(std::string_view k) noexcept {
        u64 word = 0;
        if (!k.empty()) std::memcpy(&word, k.data(), std::min<std::size_t>(k.size(), 8));
        return __builtin_bswap64(word);
    }
    [[nodiscard]] static std::string_view bytes(std::string_view k) noexcept { return k; }
    /// A separator: the shortest prefix of `high` that is above `low`.
    [[nodiscard]] static std::string_view between(std::string_view low,
                                                  std::string_view high) noexcept {
        const auto end =
            low.begin() + static_cast<std::ptrdiff_t>(std::min(low.size(), high.size()));
        const auto apart = std::mismatch(low.begin(), end, high.begin()).first - low.begin();
        return high.substr(0, static_cast<std::size_t>(apart) + 1);
    }
};

}  // namespace hf::bwtree_detail
