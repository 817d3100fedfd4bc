// masstree/adapter.hpp: the interface between the tree and a discipline's adapter.
//
// Purpose. The tree's code is written once. The adapter defines which words a leaf has for its
// discipline and what happens to them at each step (discipline/discipline.hpp lists the steps).
// masstree<D> finds it by adapter_of<D>, which each adapter specialises in its own header; a user
// of the tree includes the adapters it needs, or adapters.hpp with all of them.
//
// The hooks, in the order in which an operation calls them. `n` is locked when it is changed.
//
//   begin_update(op)                       starts an operation that may change something
//   arrive(op, n)                          before a leaf is read or changed; its version has been
//                                          read, or it is locked. Rolls back changes of a failed
//                                          epoch. Throws damage; a caller without the lock ignores
//                                          it if the version has changed
//   arrive_taken_over(op, n)               instead of arrive(), after a writer has reclaimed a
//                                          stale lock
//   observed(op, n)                        a reader has validated its loads and leaves the node
//   filled(op, record, bytes)              a record was written that is not reachable yet
//   created_root_leaf(n, epoch)                 the root leaf of a new tree, before any session
//   fresh_leaf(op, n), fresh_interior      a new node; order, next, low key (of a leaf) are set
//   before_value_change(op, n, slot)       may fail; then the value of a used slot changes
//   before_removal(op, n)                  may fail; then slots are removed from the permutation
//   choose_slot_for_insert(op, n, p)       may fail; returns a free slot that may be filled now
//   log_nodes(op, nodes)                   may fail; then any word of these nodes may be changed
//   is_logged(op, n)                       whether log_nodes() covers n; for assertions
//   publish(op, word, value)               the one store that makes a change visible
//   root_became_leaf(op, n), root_became_interior    a root has changed its kind in place
//   is_after_crash(op)                     whether changes of failed epochs may still be present
//   check_passed(op, n)                    checks an interior node on a scan's path after a crash;
//                                          throws damage
//   is_stamped(n)                          whether the discipline's words of a leaf belong to it
//   is_sealed()                            whether damaged words can be detected
//   audit_seals(n, check)                  the seals, for holdfast check, before recover_for_audit
//   audit_leaf(n, check), audit_interior   the discipline's words, for holdfast check
//   recover_for_audit(op, n)               rolls back; returns whether anything was undone
//
// An adapter with `can_inline` also supports leaves that store small values themselves; the root's
// format selects them (is_inlined; cell.hpp). The third constructor argument makes an adapter of
// such a tree, the audit hooks and created_root_leaf have an additional last argument, and the tree
// accesses a slot by these:
//
//   inlined_at(n, slot), put_inlined       a slot's contents, with the seal
//   fits_inlined(n, cell, slice, length)   whether the check matches the contents
//   inlined_word, is_sound_inlined         for holdfast check
//
// Shape. `shape` implements the split of a full leaf and the removal of an empty one.
// in_place_shape (split.hpp, remove.hpp) changes several nodes after one log_nodes(); the
// intermediate states need not be consistent after a crash. A discipline without logs has a shape
// of its own, in which every store leaves a consistent tree.
//
// Leaves may have any layout that provides these names; values[i] may return views. The keys of a
// node are contiguous (search.hpp).
#pragma once

#include <holdfast/result.hpp>

#include "index/masstree/node.hpp"

#include <concepts>
#include <span>
#include <type_traits>
#include <utility>

namespace hf::masstree_detail {

/// adapter_of<D>::type is the tree's adapter for discipline D.
template <class D>
struct adapter_of {
    static_assert(
        sizeof(D) == 0,
        "no adapter of this discipline is known: include index/masstree/<it>/adapter.hpp");
};

inline constexpr unsigned max_height = 32;
/// Maximum number of nodes that one change logs.
inline constexpr std::size_t most_nodes = 2 * max_height + 4;

/// Splits and removals that are undone from logs: split.hpp and remove.hpp.
struct in_place_shape {
    template <class Tree, class... Arguments>
    static auto split_insert(Tree& tree, Arguments&&... arguments) {
        return tree.split_in_place(std::forward<Arguments>(arguments)...);
    }
    template <class Tree, class... Arguments>
    static void remove_empty(Tree& tree, Arguments&&... arguments) {
        tree.remove_in_place(std::forward<Arguments>(arguments)...);
    }
};

/// Stands for the argument of the audit hooks in the concepts below.
struct any_check {
    void epoch(const char* what, u64 epoch);
    void epoch(const word* where, const char* what, u64 epoch);
    void bad(const word* where, const char* text);
    [[nodiscard]] u64 running() const;
    [[nodiscard]] bool has_failed(u64 epoch) const;
};

template <class L>
concept leaf_layout = std::derived_from<L, node> && sizeof(L) <= node_payload && L::width <= 15 &&
                      requires(L& n, unsigned i) {
                          { n.order } -> std::same_as<word&>;
                          { n.next } -> std::convertible_to<word&>;
                          { n.lengths } -> std::same_as<word&>;
                          { n.low_key } -> std::same_as<word&>;
                          { n.keys.data() } -> std::same_as<word*>;
                          { n.values[i] } -> std::same_as<word&>;
                          { n.sealed_order(u64{}) } -> std::same_as<u64>;
                          { n.is_order(u64{}) } -> std::same_as<bool>;
                          { n.sealed_value(u64{}) } -> std::same_as<u64>;
                          { n.is_value(u64{}) } -> std::same_as<bool>;
                          { n.set_lengths(u64{}) } -> std::same_as<void>;
                          { n.settle_in(u64{}) } -> std::same_as<void>;
                          { n.is_of_another_layer(u64{}) } -> std::same_as<bool>;
                      };

template <class I>
concept interior_layout = std::derived_from<I, node> && sizeof(I) <= node_payload &&
                          requires(I& n, const I& seen, unsigned i, u64 slice) {
                              { seen.child_index(slice) } -> std::same_as<unsigned>;
                              { seen.key_count() } -> std::same_as<unsigned>;
                              { n.keys[i] } -> std::same_as<word&>;
                              { n.children[i] } -> std::same_as<word&>;
                          };

template <class A>
concept adapter_with_hooks_of_readers = requires(
    const A& a, typename A::operation& op, typename A::leaf& n, const typename A::interior& in) {
    { a.is_after_crash(op) } -> std::same_as<bool>;
    { a.check_passed(op, in) } -> std::same_as<void>;
    { a.arrive(op, n) } -> std::same_as<void>;
    { a.arrive_taken_over(op, n) } -> std::same_as<void>;
    { a.observed(op, n) } -> std::same_as<void>;
    { a.is_sealed() } -> std::same_as<bool>;
    { a.is_stamped(n) } -> std::same_as<bool>;
};

template <class A>
concept adapter_with_hooks_of_writers =
    requires(const A& a, typename A::operation& op, typename A::leaf& n, word& w, unsigned slot,
             permutation<A::leaf::width> p, std::span<node* const> nodes) {
        { a.begin_update(op) } -> std::same_as<void>;
        { a.before_value_change(op, n, slot) } -> std::same_as<result<void>>;
        { a.before_removal(op, n) } -> std::same_as<result<void>>;
        { a.choose_slot_for_insert(op, n, p) } -> std::same_as<result<unsigned>>;
        { a.log_nodes(op, nodes) } -> std::same_as<result<void>>;
        { a.is_logged(op, n) } -> std::same_as<bool>;
        { a.publish(op, w, u64{}) } -> std::same_as<void>;
    };

template <class A>
concept adapter_with_hooks_of_fresh_memory =
    requires(const A& a, typename A::operation& op, typename A::leaf& n, typename A::interior& in,
             const void* record) {
        { a.filled(op, record, u64{}) } -> std::same_as<void>;
        { A::created_root_leaf(n, u64{}) } -> std::same_as<void>;
        { a.fresh_leaf(op, n) } -> std::same_as<void>;
        { a.fresh_interior(op, in) } -> std::same_as<void>;
        { a.root_became_leaf(op, n) } -> std::same_as<void>;
        { a.root_became_interior(op, in) } -> std::same_as<void>;
    };

template <class A>
concept adapter_with_hooks_of_audits =
    requires(const A& a, typename A::operation& op, typename A::leaf& n,
             const typename A::interior& in, any_check& check) {
        { a.recover_for_audit(op, n) } -> std::same_as<bool>;
        { a.audit_seals(n, check) } -> std::same_as<void>;
        { a.audit_leaf(n, check) } -> std::same_as<void>;
        { a.audit_interior(in, check) } -> std::same_as<void>;
    };

/// Checks an adapter, and names the missing hook in the error message.
template <class A, class Memory>
consteval bool is_adapter() {
    static_assert(leaf_layout<typename A::leaf>, "the adapter's leaf lacks a field, or is too big");
    static_assert(interior_layout<typename A::interior>,
                  "the adapter's interior node lacks a field, or is too big");
    static_assert(std::constructible_from<A, Memory&, bool>,
                  "an adapter is made from the tree's heap, and told whether leaves are sealed");
    static_assert(adapter_with_hooks_of_readers<A>,
                  "the adapter lacks is_after_crash, check_passed, arrive, arrive_taken_over, "
                  "observed, is_sealed or is_stamped");
    static_assert(adapter_with_hooks_of_writers<A>,
                  "the adapter lacks a hook of writers: begin_update, before_value_change, "
                  "before_removal, choose_slot_for_insert, log_nodes, is_logged or publish");
    static_assert(
        adapter_with_hooks_of_fresh_memory<A>,
        "the adapter lacks filled, created_root_leaf, fresh_leaf, fresh_interior, root_became_leaf "
        "or root_became_interior");
    static_assert(adapter_with_hooks_of_audits<A>,
                  "the adapter lacks audit_seals, recover_for_audit, audit_leaf or audit_interior");
    return true;
}

}  // namespace hf::masstree_detail
