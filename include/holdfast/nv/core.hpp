// holdfast/nv/core.hpp: the interface of the header-only types to the heap's compiled part
// (src/heap/). Not for programs.
#pragma once

#include <holdfast/pointer.hpp>
#include <holdfast/transaction.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hf::nv {

/// The default brand. A brand is a type that need not be defined, e.g. `struct accounts;` for
/// heap<accounts>. Pointers of one brand cannot be assigned to those of another.
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

class core;     ///< an open heap
class attempt;  ///< a running transaction, with its changes to reference counts

enum class member_kind : std::uint8_t {
    plain = 1,  ///< bytes without pointers
    ptr = 2,    ///< the offset of an object, counted
    weak = 3,   ///< the offset of a proxy
};

/// A member of a type, or of a struct within it: `count` of them, `stride` bytes apart.
struct member_info {
    std::string name;  ///< "left", "position.x"
    std::uint32_t offset = 0;
    std::uint32_t bytes = 0;  ///< size of one
    std::uint32_t count = 1;
    std::uint32_t stride = 0;
    member_kind kind = member_kind::plain;
    std::string type;  ///< type of the member, or of its target
};

/// The program's description of one of its types.
struct type_info {
    std::string name;
    std::uint32_t bytes = 0;  ///< size of an object, or of an array's element
    bool is_array = false;
    std::vector<member_info> members;
    std::vector<const type_info& (*)()> leads_to;  ///< target types of its pointers
    /// Calls nv_destroy(), once, before the object is freed; nullptr: there is none.
    void (*destroy)(attempt&, void*) = nullptr;
    unsigned number = 0;  ///< from next_type_number()
};

/// Converts one object in an upgrade: attempt, old object, new object.
using converter = std::function<void(attempt&, std::byte*, std::byte*)>;

/// Returns a new number for each type, from 0 on.
inline namespace HF_CONFIGURATION {
[[nodiscard]] unsigned next_type_number() noexcept;
}  // namespace HF_CONFIGURATION

/// The shared state of a volatile reference: it keeps an object alive beyond transactions.
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
/// True if the object lives in the transaction's snapshot. If it dies before the commit, the
/// transaction does not commit.
[[nodiscard]] bool is_alive(attempt& a, held* h);

/// The calling thread's attempt; nullptr: no transaction is running.
inline thread_local constinit attempt* current = nullptr;

/// Adds `by` to the reference count of the object at the offset.
void add_count(attempt& a, std::uint64_t offset, int by);
/// Allocates a zero-initialised object, or an array of `elements` elements.
[[nodiscard]] std::byte* make_object(attempt& a, const type_info& type, std::uint64_t elements);
/// As make_object(), but nullptr if the heap has no room for it: the transaction goes on.
[[nodiscard]] std::byte* try_make_object(attempt& a, const type_info& type, std::uint64_t elements);
/// For a container whose elements were copied to another object as bytes, pointers included: when
/// the object loses its last pointer, which has to happen in this attempt, its memory is freed, and
/// the targets of its pointers keep their counts. No ref, and no weak pointer, may lead to it.
void forsake(attempt& a, const void* object);
/// The proxy of the object at the offset; created if it has none.
[[nodiscard]] std::uint64_t proxy_of(attempt& a, std::uint64_t offset);
/// The object of a proxy; 0: it has died.
[[nodiscard]] std::uint64_t proxy_target(transaction& t, std::uint64_t proxy);
/// The attempt for a pointer under construction; aborts it unless `pointer` is in a new object.
[[nodiscard]] attempt& attempt_for(const void* pointer);

/// Reports a programming error found at run time. Within a transaction, it ends with errc::usage;
/// otherwise the process ends.
[[noreturn]] void misuse(const char* what);
/// Reports corruption found by a container: ends the transaction with errc::corrupt.
[[noreturn]] void broken(const char* what);
[[noreturn]] void bad_cursor(bool is_null);
[[noreturn]] void bad_reference(const held* h);

inline constexpr std::uint64_t array_head = 16;  ///< bytes before the first element

}  // namespace detail
}  // namespace hf::nv
