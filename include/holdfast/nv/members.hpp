// holdfast/nv/members.hpp: reflection of an aggregate's members: their number, types, offsets and
// names. C++20 has no reflection, so these are derived:
//
//   number     from the longest initialiser list that the aggregate accepts
//   types      by structured bindings of that many names
//   names      from the compilers' text for a pointer to the member (g++ and clang print it)
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hf::nv::detail {

template <class... T>
struct types {
    static constexpr std::size_t size = sizeof...(T);
};

/// Converts to any member's type. Never called.
struct anything {
    template <class U>
    operator U() const noexcept;  // NOLINT(google-explicit-constructor)
};
template <class T>
struct any_base_of {
    template <class U>
        requires(std::is_base_of_v<U, T> && !std::same_as<U, T>)
    operator U() const noexcept;  // NOLINT(google-explicit-constructor)
};

template <class T, class... A>
concept made_of = requires { T{std::declval<A>()...}; };

/// Maximum number of members; put further ones into a nested struct.
inline constexpr std::size_t most_members = 32;

template <std::size_t>
using anything_at = anything;
template <class T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return made_of<T, anything_at<I>...>;
}
template <class T, std::size_t N = 0, bool Met = false>
constexpr std::size_t count_members() {
    constexpr bool met = takes<T>(std::make_index_sequence<N>{});
    if constexpr (Met && !met) {
        return N - 1;
    } else if constexpr (N > most_members) {
        return N;
    } else {
        return count_members<T, N + 1, met>();
    }
}
template <class T>
inline constexpr std::size_t member_count = count_members<T>();
template <class T>
concept has_base = made_of<T, any_base_of<T>>;

/// References to the members.
template <class T>
constexpr auto members_of(T& t) noexcept {
    constexpr std::size_t n = member_count<std::remove_const_t<T>>;
    static_assert(n <= most_members,
                  "holdfast: too many members for one struct: put some into a struct within it");
    if constexpr (n == 0) {
        return std::tuple<>{};
    } else if constexpr (n == 1) {
        auto& [m0] = t;
        return std::tie(m0);
    } else if constexpr (n == 2) {
        auto& [m0, m1] = t;
        return std::tie(m0, m1);
    } else if constexpr (n == 3) {
        auto& [m0, m1, m2] = t;
        return std::tie(m0, m1, m2);
    } else if constexpr (n == 4) {
        auto& [m0, m1, m2, m3] = t;
        return std::tie(m0, m1, m2, m3);
    } else if constexpr (n == 5) {
        auto& [m0, m1, m2, m3, m4] = t;
        return std::tie(m0, m1, m2, m3, m4);
    } else if constexpr (n == 6) {
        auto& [m0, m1, m2, m3, m4, m5] = t;
        return std::tie(m0, m1, m2, m3, m4, m5);
    } else if constexpr (n == 7) {
        auto& [m0, m1, m2, m3, m4, m5, m6] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6);
    } else if constexpr (n == 8) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7);
    } else if constexpr (n == 9) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8);
    } else if constexpr (n == 10) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9);
    } else if constexpr (n == 11) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10);
    } else if constexpr (n == 12) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11);
    } else if constexpr (n == 13) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12);
    } else if constexpr (n == 14) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13);
    } else if constexpr (n == 15) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14);
    } else if constexpr (n == 16) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15);
    } else if constexpr (n == 17) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16);
    } else if constexpr (n == 18) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17);
    } else if constexpr (n == 19) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
               m18] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18);
    } else if constexpr (n == 20) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19);
    } else if constexpr (n == 21) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20);
    } else if constexpr (n == 22) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21);
    } else if constexpr (n == 23) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22);
    } else if constexpr (n == 24) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23);
    } else if constexpr (n == 25) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23, m24);
    } else if constexpr (n == 26) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23, m24, m25);
    } else if constexpr (n == 27) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23, m24, m25, m26);
    } else if constexpr (n == 28) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27);
    } else if constexpr (n == 29) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27, m28] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28);
    } else if constexpr (n == 30) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29);
    } else if constexpr (n == 31) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30);
    } else if constexpr (n == 32) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31] = t;
        return std::tie(m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16,
                        m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31);
    }
}

/// The members' types; also of bit-fields, to which no reference can be bound.
template <class T>
constexpr auto types_of_members(T& t) noexcept {
    constexpr std::size_t n = member_count<std::remove_const_t<T>>;
    if constexpr (n == 0) {
        return types<>{};
    } else if constexpr (n == 1) {
        auto& [m0] = t;
        return types<decltype(m0)>{};
    } else if constexpr (n == 2) {
        auto& [m0, m1] = t;
        return types<decltype(m0), decltype(m1)>{};
    } else if constexpr (n == 3) {
        auto& [m0, m1, m2] = t;
        return types<decltype(m0), decltype(m1), decltype(m2)>{};
    } else if constexpr (n == 4) {
        auto& [m0, m1, m2, m3] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3)>{};
    } else if constexpr (n == 5) {
        auto& [m0, m1, m2, m3, m4] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4)>{};
    } else if constexpr (n == 6) {
        auto& [m0, m1, m2, m3, m4, m5] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5)>{};
    } else if constexpr (n == 7) {
        auto& [m0, m1, m2, m3, m4, m5, m6] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6)>{};
    } else if constexpr (n == 8) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7)>{};
    } else if constexpr (n == 9) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8)>{};
    } else if constexpr (n == 10) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9)>{};
    } else if constexpr (n == 11) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10)>{};
    } else if constexpr (n == 12) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11)>{};
    } else if constexpr (n == 13) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12)>{};
    } else if constexpr (n == 14) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13)>{};
    } else if constexpr (n == 15) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14)>{};
    } else if constexpr (n == 16) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15)>{};
    } else if constexpr (n == 17) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16)>{};
    } else if constexpr (n == 18) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17)>{};
    } else if constexpr (n == 19) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17,
               m18] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18)>{};
    } else if constexpr (n == 20) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19)>{};
    } else if constexpr (n == 21) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20)>{};
    } else if constexpr (n == 22) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21)>{};
    } else if constexpr (n == 23) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22)>{};
    } else if constexpr (n == 24) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23)>{};
    } else if constexpr (n == 25) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23), decltype(m24)>{};
    } else if constexpr (n == 26) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23), decltype(m24),
                     decltype(m25)>{};
    } else if constexpr (n == 27) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23), decltype(m24),
                     decltype(m25), decltype(m26)>{};
    } else if constexpr (n == 28) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23), decltype(m24),
                     decltype(m25), decltype(m26), decltype(m27)>{};
    } else if constexpr (n == 29) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27, m28] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23), decltype(m24),
                     decltype(m25), decltype(m26), decltype(m27), decltype(m28)>{};
    } else if constexpr (n == 30) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23), decltype(m24),
                     decltype(m25), decltype(m26), decltype(m27), decltype(m28), decltype(m29)>{};
    } else if constexpr (n == 31) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23), decltype(m24),
                     decltype(m25), decltype(m26), decltype(m27), decltype(m28), decltype(m29),
                     decltype(m30)>{};
    } else if constexpr (n == 32) {
        auto& [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
               m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31] = t;
        return types<decltype(m0), decltype(m1), decltype(m2), decltype(m3), decltype(m4),
                     decltype(m5), decltype(m6), decltype(m7), decltype(m8), decltype(m9),
                     decltype(m10), decltype(m11), decltype(m12), decltype(m13), decltype(m14),
                     decltype(m15), decltype(m16), decltype(m17), decltype(m18), decltype(m19),
                     decltype(m20), decltype(m21), decltype(m22), decltype(m23), decltype(m24),
                     decltype(m25), decltype(m26), decltype(m27), decltype(m28), decltype(m29),
                     decltype(m30), decltype(m31)>{};
    }
}

template <class T>
using member_types = decltype(types_of_members(std::declval<T&>()));

// ------------------------------------------------------------------------------------------ names

template <class T>
struct shell {
    T value;
};
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
/// Declared but never defined: only its members' names are used.
template <class T>
extern const shell<T> nowhere;
#ifdef __clang__
#pragma clang diagnostic pop
#endif

template <class T>
struct pointer_to {
    T at;
};
template <class T>
pointer_to(T) -> pointer_to<T>;

template <auto P>
constexpr std::string_view printed() noexcept {
    return __PRETTY_FUNCTION__;
}
template <class T>
constexpr std::string_view printed_type() noexcept {
    return __PRETTY_FUNCTION__;
}

constexpr bool is_name(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
/// The name in `text` that ends before one of these two texts.
constexpr std::string_view last_name(std::string_view text, std::string_view gcc,
                                     std::string_view clang) noexcept {
    std::size_t end = text.rfind(gcc);
    if (end == std::string_view::npos) end = text.rfind(clang);
    if (end == std::string_view::npos) return {};
    std::size_t begin = end;
    while (begin != 0 && is_name(text[begin - 1])) --begin;
    return text.substr(begin, end - begin);
}

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T, std::size_t I>
constexpr std::string_view member_name() noexcept {
    return last_name(
        printed<pointer_to{std::addressof(std::get<I>(members_of(nowhere<T>.value)))}>(), ")}",
        "}]");
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif
template <auto M>
constexpr std::string_view member_pointer_name() noexcept {
    return last_name(printed<M>(), ";", "]");
}

/// The type's name as the compiler prints it, without the surrounding text.
template <class T>
constexpr std::string_view raw_type_name() noexcept {
    std::string_view text = printed_type<T>();
    text.remove_prefix(text.find("T = ") + 4);
    return text.substr(0, text.find_first_of(";]"));
}

}  // namespace hf::nv::detail
