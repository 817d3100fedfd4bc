// holdfast/nv/plain.hpp: the types allowed in an nv::p<T>: values that are still valid after a
// restart.
//
// These are numbers, enumerations, and aggregates of these. A class with inaccessible members is
// rejected, since it may contain an address. The program can allow it:
//
//     template <> inline constexpr bool hf::nv::plain<money> = true;
#pragma once

#include <holdfast/nv/members.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <type_traits>

namespace hf::nv {

/// Specialise as true for a trivially copyable class that contains no address.
template <class T>
inline constexpr bool plain = false;
template <class R, class P>
inline constexpr bool plain<std::chrono::duration<R, P>> = true;
template <class C, class D>
inline constexpr bool plain<std::chrono::time_point<C, D>> = true;

namespace detail {

template <class...>
inline constexpr bool refused = false;

template <class T>
struct element_of_array {
    using type = void;
};
template <class T, std::size_t N>
struct element_of_array<T[N]> {
    using type = T;
};
template <class T, std::size_t N>
struct element_of_array<std::array<T, N>> {
    using type = T;
};

template <class T>
consteval bool check_plain();
template <class... M>
consteval bool check_plain_members(types<M...>) {
    return (check_plain<M>() && ...);
}

/// True; a static_assert fails otherwise.
template <class T>
consteval bool check_plain() {
    if constexpr (std::is_reference_v<T>) {
        static_assert(refused<T>,
                      "holdfast: nv::p<T> of a reference: it would lead into nothing after a "
                      "restart: use nv::ptr<T, H>");
    } else if constexpr (std::is_pointer_v<T> || std::is_null_pointer_v<T>) {
        static_assert(refused<T>,
                      "holdfast: nv::p<T> of a raw pointer: it would lead into nothing after a "
                      "restart: use nv::ptr<T, H>");
    } else if constexpr (std::is_member_pointer_v<T>) {
        static_assert(refused<T>,
                      "holdfast: nv::p<T> of a pointer to a member: the next build may number "
                      "members otherwise: keep an enumeration");
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                         std::is_same_v<T, std::byte> || plain<std::remove_cv_t<T>>) {
        return true;
    } else if constexpr (!std::is_void_v<typename element_of_array<T>::type>) {
        return check_plain<typename element_of_array<T>::type>();
    } else if constexpr (std::is_union_v<T>) {
        static_assert(refused<T>,
                      "holdfast: nv::p<T> of a union: nothing tells which member it holds: use "
                      "a struct, or say nv::plain<T> = true");
    } else if constexpr (std::is_polymorphic_v<T>) {
        static_assert(
            refused<T>,
            "holdfast: nv::p<T> of a class with virtual functions: it holds an address of "
            "the program: keep an enumeration that says what it is");
    } else if constexpr (!std::is_trivially_copyable_v<T>) {
        static_assert(refused<T>,
                      "holdfast: nv::p<T> holds what is nothing but its bytes: this T owns "
                      "something, or is made of persistent fields already: use nv::string, "
                      "nv::vector, or put it into the struct without nv::p");
    } else if constexpr (!std::is_aggregate_v<T>) {
        static_assert(refused<T>,
                      "holdfast: nv::p<T> of a class whose members can't be seen: it may hold an "
                      "address: make it an aggregate, or say nv::plain<T> = true");
    } else if constexpr (has_base<T>) {
        static_assert(refused<T>,
                      "holdfast: nv::p<T> of a class with a base class: make the base a member, or "
                      "say nv::plain<T> = true");
    } else {
        return check_plain_members(member_types<T>{});
    }
    return true;
}

/// True for types that one load or store can access.
template <class T>
inline constexpr bool is_word =
    sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8;
template <class T>
inline constexpr std::size_t alignment_of_field = is_word<T> ? sizeof(T) : alignof(T);

}  // namespace detail
}  // namespace hf::nv
