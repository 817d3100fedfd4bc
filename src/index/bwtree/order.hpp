// bwtree/order.hpp: keys in order: a head of eight bytes, and the rest where heads are equal.
//
// The head of a number is the number. That of a byte string is its first eight bytes, the first one
// highest, with zeros for those that it lacks; so heads are in the order of the keys, and two keys
// with one head may be different.
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
    /// The smallest key that is above `low` and not above `high`, as bounds of nodes are made.
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
    /// The beginning of `high` by which it is above `low`.
    [[nodiscard]] static std::string_view between(std::string_view low,
                                                  std::string_view high) noexcept {
        const auto end =
            low.begin() + static_cast<std::ptrdiff_t>(std::min(low.size(), high.size()));
        const auto apart = std::mismatch(low.begin(), end, high.begin()).first - low.begin();
        return high.substr(0, static_cast<std::size_t>(apart) + 1);
    }
};

}  // namespace hf::bwtree_detail
