// holdfast/nv/core.hpp: what the types of a heap ask of its compiled part (src/heap/). Not for
// programs.
#pragma once

#include <holdfast/transaction.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hf::nv {

/// The brand of programs that have one heap, or don't care. A brand is a type that need not be
/// defined: `struct accounts;` and heap<accounts>. Pointers of one brand don't fit another's.
struct common;

template <class H = common>
class tx;
template <class T, class H = common>
class cursor;
template <class T, class H = common>
class ptr;
template <class T, class H = common>
class weak;
template <class T, class H = common>
class ref;
template <class T, class H = common>
class weak_ref;

namespace detail {

template <class...>
inline constexpr bool never = false;

class core;     ///< of an open heap
class attempt;  ///< of a running transaction: what it does to counts

enum class member_kind : std::uint8_t {
    plain = 1,  ///< bytes that lead nowhere
    ptr = 2,    ///< the offset of an object, which it counts
    weak = 3,   ///< the offset of a proxy
};

/// A member of a type, or of a struct within it: `count` of them, `stride` bytes apart.
struct member_info {
    std::string name;  ///< "left", "position.x"
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;  ///< of one
    std::uint32_t count = 1;
    std::uint32_t stride = 0;
    member_kind kind = member_kind::plain;
    std::string type;  ///< what lies there, or what it leads to
};

/// What a program knows of one of its types.
struct type_info {
    std::string name;
    std::uint32_t bytes = 0;  ///< of an object; of an element where it is an array
    bool is_array = false;
    std::vector<member_info> members;
    std::vector<const type_info& (*)()> leads_to;  ///< types of what its pointers lead to
    /// nv_destroy(), once, before the object goes; nullptr: it has none.
    void (*destroy)(attempt&, void*) = nullptr;
    unsigned number = 0;  ///< of the program
};

/// What an upgrade does to each object: an attempt, the old one, the new one.
using converter = std::function<void(attempt&, std::byte*, std::byte*)>;

/// From 0 on, another for each type.
[[nodiscard]] unsigned next_type_number() noexcept;

/// What a volatile reference holds: an object's life beyond transactions.
struct held {
    enum status : std::uint32_t { live = 0, dying = 1, gone = 2, closed = 3 };
    std::atomic<std::uint32_t> state{live};
    std::atomic<std::uint32_t> strong{0};
};
[[nodiscard]] held* hold(attempt& a, std::uint64_t offset);
[[nodiscard]] held* hold_weakly(attempt& a, std::uint64_t offset);
void drop(held* h) noexcept;
void retain_weakly(held* h) noexcept;
void drop_weakly(held* h) noexcept;
/// Whether it lives, as of the transaction's snapshot, and stays so or the transaction will not
/// commit.
[[nodiscard]] bool is_alive(attempt& a, held* h);

/// The calling thread's; nullptr: none is running.
inline thread_local constinit attempt* current = nullptr;

/// Once more, or so often, is the object at the offset pointed to.
void add_count(attempt& a, std::uint64_t offset, int by);
/// A new object, zeros; `elements` of it where it is an array.
[[nodiscard]] std::byte* make_object(attempt& a, const type_info& type, std::uint64_t elements);
/// The proxy of the object at the offset; made where there is none.
[[nodiscard]] std::uint64_t proxy_of(attempt& a, std::uint64_t offset);
/// The object that a proxy stands for; 0: it has died.
[[nodiscard]] std::uint64_t proxy_target(transaction& t, std::uint64_t proxy);
/// Where a pointer that is being made may lie: ends the attempt elsewhere.
[[nodiscard]] attempt& attempt_for(const void* pointer);

/// A mistake that only run time can see. Within a transaction this ends with errc::usage, outside
/// the process does.
[[noreturn]] void misuse(const char* what);
/// Of what a container finds that no program can have written: errc::corrupt, by a transaction.
[[noreturn]] void broken(const char* what);
[[noreturn]] void bad_cursor(bool is_null);
[[noreturn]] void bad_reference(const held* h);

inline constexpr std::uint64_t array_head = 16;  ///< bytes before the first element

}  // namespace detail
}  // namespace hf::nv
