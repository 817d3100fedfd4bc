// holdfast/nv/describe.hpp: the types allowed in a heap, and their descriptions in the heap.
//
// A persistent type is an aggregate of nv::p, ptr, weak, array, bytes, and of such aggregates. A
// class with private members lists them in declaration order:
//
//     static constexpr auto nv_members = std::tuple{&account::owner, &account::cents};
//
// Any other type fails to compile, with a message that proposes a replacement (check_field()).
// Pointers in a heap of brand H point to objects of the same brand.
//
// A type's name is derived from the compiler's, and equal for g++ and clang (without RTTI, except
// for local types). A member `static
// constexpr std::string_view nv_name = "..."` overrides it, so that the type may be renamed or
// moved to another namespace.
#pragma once

#include <holdfast/nv/field.hpp>
#include <holdfast/nv/members.hpp>
#include <holdfast/nv/reference.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

namespace hf::nv {
namespace detail {

template <class T>
inline constexpr bool is_p = false;
template <class T>
inline constexpr bool is_p<p<T>> = true;
template <class T>
inline constexpr bool is_bytes = false;
template <std::size_t N>
inline constexpr bool is_bytes<bytes<N>> = true;
template <class T>
inline constexpr bool is_array = false;
template <class E, std::size_t N>
inline constexpr bool is_array<array<E, N>> = true;
template <class T>
inline constexpr bool is_ptr = false;
template <class T, class H>
inline constexpr bool is_ptr<ptr<T, H>> = true;
template <class T>
inline constexpr bool is_weak = false;
template <class T, class H>
inline constexpr bool is_weak<weak<T, H>> = true;
template <class T>
inline constexpr bool is_volatile_handle = false;
template <class T, class H>
inline constexpr bool is_volatile_handle<ref<T, H>> = true;
template <class T, class H>
inline constexpr bool is_volatile_handle<weak_ref<T, H>> = true;
template <class T, class H>
inline constexpr bool is_volatile_handle<cursor<T, H>> = true;
template <class T>
inline constexpr bool is_owner = false;
template <class C, class R, class A>
inline constexpr bool is_owner<std::basic_string<C, R, A>> = true;
template <class T, class A>
inline constexpr bool is_owner<std::vector<T, A>> = true;
template <class T, class D>
inline constexpr bool is_owner<std::unique_ptr<T, D>> = true;
template <class T>
inline constexpr bool is_owner<std::shared_ptr<T>> = true;
template <class T>
inline constexpr bool is_owner<std::weak_ptr<T>> = true;
template <class F>
inline constexpr bool is_owner<std::function<F>> = true;

template <class T>
concept tells_members = requires { T::nv_members; };

template <class T, class M>
M member_type_of(M T::*);

template <class T, std::size_t... I>
auto told_types(std::index_sequence<I...>)
    -> types<decltype(member_type_of(std::get<I>(T::nv_members)))...>;
/// The member types as a list, from nv_members or detected.
template <class T>
struct members {
    using list = member_types<T>;
};
template <tells_members T>
struct members<T> {
    using list =
        decltype(told_types<T>(std::make_index_sequence<
                               std::tuple_size_v<std::remove_cvref_t<decltype(T::nv_members)>>>{}));
};

/// The size of a struct with these members, in bytes.
template <class... M>
consteval std::size_t laid_out(types<M...>, std::size_t alignment) {
    std::size_t end = 0;
    ((end = (end + alignof(M) - 1) / alignof(M) * alignof(M) + sizeof(M)), ...);
    end = (end + alignment - 1) / alignment * alignment;
    return end == 0 ? 1 : end;
}

template <class M, class H>
consteval bool check_field();
template <class H, class... M>
consteval bool check_fields(types<M...>) {
    return (check_field<M, H>() && ...);
}

/// True; a static_assert fails otherwise. M is a member's type, or a whole object's.
template <class M, class H>
consteval bool check_field() {
    if constexpr (is_p<M> || is_bytes<M>) {
        return true;
    } else if constexpr (is_ptr<M> || is_weak<M>) {
        static_assert(
            std::is_same_v<typename M::brand, H>,
            "holdfast: a pointer into a heap of another brand: it would lead into nothing "
            "where that heap isn't: objects point into their own heap only");
    } else if constexpr (is_array<M>) {
        return check_field<typename M::value_type, H>();
    } else if constexpr (std::is_reference_v<M>) {
        static_assert(
            never<M>,
            "holdfast: a reference in a persistent object would lead into nothing after a "
            "restart: use nv::ptr<T, H>");
    } else if constexpr (is_volatile_handle<M>) {
        static_assert(never<M>,
                      "holdfast: nv::ref, weak_ref and cursor live in ordinary memory only: in a "
                      "persistent object use nv::ptr<T, H> or nv::weak<T, H>");
    } else if constexpr (std::is_pointer_v<M> || std::is_member_pointer_v<M>) {
        static_assert(
            never<M>,
            "holdfast: a raw pointer in a persistent object would lead into nothing after "
            "a restart: use nv::ptr<T, H>");
    } else if constexpr (std::is_arithmetic_v<M> || std::is_enum_v<M>) {
        static_assert(never<M>,
                      "holdfast: a bare field (a bit-field, too) could be written outside of a "
                      "transaction: use nv::p<T>");
    } else if constexpr (std::is_array_v<M>) {
        static_assert(never<M>,
                      "holdfast: a C array could be written outside of a transaction: use "
                      "nv::array<T, N> or nv::bytes<N>");
    } else if constexpr (is_owner<M>) {
        static_assert(never<M>,
                      "holdfast: it owns ordinary memory, which ends with the process: use "
                      "nv::string, nv::vector or nv::ptr");
    } else if constexpr (std::is_union_v<M>) {
        static_assert(never<M>,
                      "holdfast: a union doesn't tell which member it holds: use a struct with all "
                      "of them");
    } else if constexpr (std::is_polymorphic_v<M>) {
        static_assert(never<M>,
                      "holdfast: a class with virtual functions holds an address of the program: "
                      "keep an nv::p of an enumeration that says what it is");
    } else if constexpr (tells_members<M>) {
        using list = typename members<M>::list;
        static_assert(laid_out(list{}, alignof(M)) == sizeof(M),
                      "holdfast: nv_members must name all members of the class, in their order");
        return check_fields<H>(list{});
    } else if constexpr (!std::is_class_v<M> || !std::is_aggregate_v<M>) {
        static_assert(never<M>,
                      "holdfast: the members of this class can't be seen: make it an aggregate, or "
                      "add static constexpr auto nv_members = std::tuple{&T::a, ...}");
    } else if constexpr (has_base<M>) {
        static_assert(never<M>,
                      "holdfast: a persistent class can't have a base class: make the base a "
                      "member");
    } else if constexpr (member_count<M> > most_members) {
        static_assert(
            never<M>,
            "holdfast: a reference in a persistent object would lead into nothing after a "
            "restart: use nv::ptr<T, H>; or it has more than 32 members: put some into a "
            "struct within it");
    } else {
        using list = typename members<M>::list;
        if constexpr (check_fields<H>(list{})) {
            static_assert(laid_out(list{}, alignof(M)) == sizeof(M),
                          "holdfast: the members don't fill the struct: no alignas, and no "
                          "bit-fields, in persistent types");
        }
    }
    return true;
}

// ----------------------------------------------------------------------------------- descriptions

/// Makes the type names of g++ and clang equal.
[[nodiscard]] std::string common_name(std::string_view printed);
/// As common_name(), but local types of different functions and lambdas have different names.
/// `mangled`: the type's name by the ABI; nullptr: unknown.
[[nodiscard]] std::string type_name(std::string_view printed, const char* mangled);

template <class T>
std::string name_of() {
    if constexpr (is_array_type<T>::value) {
        return name_of<std::remove_extent_t<T>>() + "[]";
    } else if constexpr (requires { T::nv_name; }) {
        return std::string(T::nv_name);
    } else if constexpr (is_ptr<T> || is_weak<T>) {  // by the name that its target was given
        std::string name = is_ptr<T> ? "hf::nv::ptr<" : "hf::nv::weak<";
        name += name_of<typename T::target>();
        if constexpr (!std::is_same_v<typename T::brand, common>) {
            name += "," + common_name(raw_type_name<typename T::brand>());
        }
        return name + ">";
    } else {
#ifdef __cpp_rtti
        return type_name(raw_type_name<T>(), typeid(T).name());
#else
        return type_name(raw_type_name<T>(), nullptr);
#endif
    }
}

template <class T>
const type_info& info_of();

struct place_of_members {
    std::string prefix;  ///< "position."
    std::size_t offset = 0;
    std::uint32_t count = 1;
    std::uint32_t stride = 0;
};

template <class M>
void describe(type_info& info, const place_of_members& at, std::string_view name);

template <class T, std::size_t I>
std::string_view name_of_member() {
    if constexpr (tells_members<T>) {
        return member_pointer_name<std::get<I>(T::nv_members)>();
    } else {
        return member_name<T, I>();
    }
}
template <class T, std::size_t I>
const volatile void* address_of_member(T& t) {
    if constexpr (tells_members<T>) {
        return std::addressof(t.*std::get<I>(T::nv_members));
    } else {
        return std::addressof(std::get<I>(members_of(t)));
    }
}

template <class T, class... M, std::size_t... I>
void describe_members(type_info& info, const place_of_members& at, types<M...>,
                      std::index_sequence<I...>) {
    // Member offsets are computed from uninitialised storage, without an object.
    alignas(T) static std::byte room[sizeof(T)];
    T& t = reinterpret_cast<T&>(room);
    const auto offset = [&](const volatile void* p) {
        return at.offset +
               static_cast<std::size_t>(static_cast<const volatile std::byte*>(p) - room);
    };
    (describe<M>(info, {at.prefix, offset(address_of_member<T, I>(t)), at.count, at.stride},
                 name_of_member<T, I>()),
     ...);
}

template <class M>
void describe(type_info& info, const place_of_members& at, std::string_view name) {
    const std::string full = at.prefix + std::string(name);
    const auto add = [&](member_kind kind, std::size_t size, std::string type) {
        info.members.push_back({full, static_cast<std::uint32_t>(at.offset),
                                static_cast<std::uint32_t>(size), at.count, at.stride, kind,
                                std::move(type)});
    };
    if constexpr (is_p<M>) {
        add(member_kind::plain, sizeof(M), name_of<typename M::value_type>());
    } else if constexpr (is_bytes<M>) {
        add(member_kind::plain, sizeof(M), "bytes");
    } else if constexpr (is_ptr<M> || is_weak<M>) {
        add(is_ptr<M> ? member_kind::ptr : member_kind::weak, sizeof(M),
            name_of<typename M::target>());
        info.leads_to.push_back(&info_of<typename M::target>);
    } else if constexpr (is_array<M>) {
        using element = typename M::value_type;
        if (at.count == 1) {
            describe<element>(info,
                              {at.prefix, at.offset, static_cast<std::uint32_t>(M::size()),
                               static_cast<std::uint32_t>(sizeof(element))},
                              name);
        } else {  // an array in an array: each of the outer ones by itself
            for (std::size_t i = 0; i < at.count; ++i) {
                describe<M>(info, {at.prefix, at.offset + i * at.stride, 1, 0}, name);
            }
        }
    } else if constexpr (!std::is_class_v<M>) {
        static_assert(never<M>,
                      "holdfast: pointers lead to structs of fields, and containers hold fields or "
                      "structs of these: write nv::vector<nv::p<int>>, not nv::vector<int>");
    } else {
        using list = typename members<M>::list;
        describe_members<M>(info,
                            {name.empty() ? at.prefix : full + ".", at.offset, at.count, at.stride},
                            list{}, std::make_index_sequence<list::size>{});
    }
}

template <class T>
concept has_destroy = requires { &T::nv_destroy; };
template <class C, class H>
tx<H> transaction_of(void (C::*)(tx<H>&));
template <class C, class H>
tx<H> transaction_of(void (C::*)(tx<H>&) noexcept);

struct named_destroy {
    void nv_destroy();
};
/// A name that both bases have is ambiguous, whatever it names, private or not.
template <class T>
struct destroy_probe : T, named_destroy {};
template <class T>
inline constexpr bool names_destroy = false;
template <class T>
    requires(std::is_class_v<T> && !std::is_final_v<T>)
inline constexpr bool names_destroy<T> = !requires { &destroy_probe<T>::nv_destroy; };

/// Refuses an nv_destroy() that the heap could not call; it would be ignored silently.
template <class T, class H>
consteval void check_destroy() {
    if constexpr (has_destroy<T>) {
        static_assert(
            std::is_same_v<decltype(transaction_of(&T::nv_destroy)), tx<H>>,
            "holdfast: nv_destroy() takes a transaction of its own heap: void nv_destroy(tx<H>&)");
    } else {
        static_assert(!names_destroy<T>,
                      "holdfast: nv_destroy() can't be called: it must be one public member "
                      "function, void nv_destroy(nv::tx<H>&), and no template");
    }
}

/// The description of T, or of an array T[].
template <class T>
const type_info& info_of() {
    static const type_info info = [] {
        using object = std::conditional_t<is_array_type<T>::value, std::remove_extent_t<T>, T>;
        static_assert(alignof(object) <= 16, "holdfast: objects lie at multiples of 16 bytes");
        type_info i;
        i.name = name_of<T>();
        i.bytes = sizeof(object);
        i.is_array = is_array_type<T>::value;
        i.number = next_type_number();
        describe<object>(i, {}, "");
        if constexpr (has_destroy<object> && !is_array_type<T>::value) {
            i.destroy = [](attempt& a, void* p) {
                decltype(transaction_of(&object::nv_destroy)) t(a);
                static_cast<object*>(p)->nv_destroy(t);
            };
        }
        return i;
    }();
    return info;
}

}  // namespace detail

/// True if T may be an object in a heap of brand H; fails to compile otherwise.
template <class T, class H = common>
consteval bool check_persistent() {
    if constexpr (is_array_type<T>::value) {
        return detail::check_field<std::remove_extent_t<T>, H>();
    } else {
        detail::check_destroy<T, H>();
        return detail::check_field<T, H>();
    }
}

}  // namespace hf::nv
