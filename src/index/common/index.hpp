// index/common/index.hpp: what every eager index offers, whatever its shape.
//
// Purpose. One concept for all of them, so that the public face, the benchmark, the
// tests and the crash lab's judges are written once. An index is a template of its discipline D
// (eager/discipline.hpp) and its keys K (keys.hpp); D::operation has all that the discipline does.
//
//   static result<std::unique_ptr<I>> open(eager_space&, std::string_view root)
//                                 finds the index behind that root of the region, or makes it, and
//                                 adds it to the space's structures; in the phase `discipline`
//   insert(op, key, value)        result<bool>: false, and nothing done, if the key is there
//   upsert(op, key, value, old)   result<bool>: true if the key is new
//   update(op, key, value, old)   result<bool>: false, and nothing done, if it is not there
//   remove(op, key, old)          bool: whether it was there. Needs no memory.
//   get(op, key, found)           bool; found(value) is called within the operation, and what it is
//                                 given lives as long as that
//   get_piece(op, keys, found)    some indexes: many keys in step (get_piece.hpp)
//   for_each(space, visit)        visit(key, value) of each that is there throughout, once; of
//                                 others or not. Makes operations of its own: none may be running
//   scan(space, lower, most, visit), scan_back(space, upper, most, visit)
//                                 ordered indexes: at most so many, from the first key not below
//                                 (not above), in order; the number of those visited
//   parts, for_each_in(space, part, visit)
//                                 others: for_each() in pieces, for those who walk a little at a
//                                 time
//   insert_piece(op, entries)     inserts under two fences. insert_many() (batch.hpp) makes pieces
//                                 of any number of entries; of keys in order it is the bulk load
//   trace_roots, trace            for the sweep (alloc/swept/tracing.hpp)
//   audit(heap_audit&)            claims all its memory, and says what is wrong in it
//
// `old` is called with the value that is replaced or removed, before its memory is retired:
// `ignore` where nobody asks.
//
// Promises (D = eager). When a call returns, its effect is durable; what it has returned, a miss
// included, is not undone by a crash. Errors: errc::no_space before anything is visible;
// errc::too_large. Reads and removes work on in a full region.
//
// Concurrency. Any number of threads. Readers never wait for anybody and never retry for ever.
#pragma once

#include "alloc/audit.hpp"
#include "eager/discipline.hpp"
#include "eager/operation.hpp"
#include "index/common/keys.hpp"
#include "index/common/root.hpp"

#include <concepts>
#include <memory>

namespace hf {

struct ignore_old {
    template <class Value>
    void operator()(const Value&) const noexcept {}
};
inline constexpr ignore_old ignore{};

namespace detail {
struct any_visitor {
    template <class... Values>
    void operator()(const Values&...) const noexcept {}
};
}  // namespace detail

template <class I>
concept eager_index =
    std::derived_from<I, traced> &&
    requires(I& i, const I& c, eager_space& space, typename I::operation& op, typename I::key k,
             typename I::value v, detail::any_visitor visit, heap_audit& audit) {
        { I::name } -> std::convertible_to<std::string_view>;
        { I::format } -> std::convertible_to<layout::room_format>;
        { I::open(space, std::string_view{}) } -> std::same_as<result<std::unique_ptr<I>>>;
        { i.insert(op, k, v) } -> std::same_as<result<bool>>;
        { i.upsert(op, k, v, visit) } -> std::same_as<result<bool>>;
        { i.update(op, k, v, visit) } -> std::same_as<result<bool>>;
        { i.remove(op, k, visit) } -> std::same_as<bool>;
        { c.get(op, k, visit) } -> std::same_as<bool>;
        { c.for_each(space, visit) };
        { c.audit(audit) };
    };

template <class I>
concept ordered_eager_index =
    eager_index<I> && requires(const I& c, eager_space& space, typename I::key k,
                               detail::any_visitor visit, u64 most) {
        { c.scan(space, k, most, visit) } -> std::same_as<u64>;
        { c.scan_back(space, k, most, visit) } -> std::same_as<u64>;
    };

}  // namespace hf
