// index/common/index.hpp: the interface of every eager index.
//
// Purpose. One concept, so that the public map, the benchmark, the tests and the crash lab's judges
// are written once. An index is a template over its discipline D (eager/discipline.hpp) and its
// keys K (keys.hpp); D::operation is its interface to the discipline.
//
//   static result<std::unique_ptr<I>> open(eager_space&, std::string_view root)
//                                 finds or creates the index at that root of the region, and adds
//                                 it to the space's structures; called in the phase `discipline`
//   insert(op, key, value)        result<bool>: false, without effect, if the key exists
//   upsert(op, key, value, old)   result<bool>: true if the key is new
//   update(op, key, value, old)   result<bool>: false, without effect, if the key does not exist
//   remove(op, key, old)          bool: whether the key existed. Allocates no memory.
//   get(op, key, found)           bool; calls found(value) within the operation; the value lives as
//                                 long as the operation
//   get_piece(op, keys, found)    some indexes: looks up many keys in lockstep (get_piece.hpp)
//   for_each(space, visit)        visit(key, value) once for each key that exists during the whole
//                                 call; other keys may or may not be visited. Opens its own
//                                 operations: none of the thread's may be open
//   scan(space, lower, most, visit), scan_back(space, upper, most, visit)
//                                 ordered indexes: visits at most `most` entries in order, from the
//                                 first key >= lower (last key <= upper); returns their number
//   parts, for_each_in(space, part, visit)
//                                 unordered indexes: for_each() split into parts, for callers that
//                                 iterate incrementally
//   insert_piece(op, entries)     inserts under two fences. insert_many() (batch.hpp) splits any
//                                 number of entries into pieces; sorted, it is the bulk load
//   trace_roots, trace            for the sweep (alloc/swept/tracing.hpp)
//   audit(heap_audit&)            claims all of the index's memory, and reports damage
//
// `old` is called with the value that is replaced or removed, before its memory is retired; pass
// `ignore` if it is not needed.
//
// Guarantees (D = eager): durable linearizability. When a call returns, its effect is durable; its
// result, a miss included, is not undone by a crash. Errors: errc::no_space before anything is
// visible; errc::too_large. Reads and removes also work in a full region.
//
// Concurrency. Any number of threads. Readers take no locks, and their retries are bounded.
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
