// scan.hpp: ordered visits in both directions (part of masstree.hpp).
//
// Leaf by leaf: a validated snapshot of a leaf's entries, then the visits. Forward over `next`;
// backward by a descent for low key - 1 (there are no prev links). Within a layer the position is
// the last visited slice; a leaf contributes only entries beyond it, so a change of the leaves'
// borders under the scan neither repeats nor reorders anything. If a node is gone, the layer, or
// the whole scan, goes on from the last visited key.
#pragma once

#include "index/masstree/masstree.hpp"

namespace hf {

template <any_discipline D>
struct masstree<D>::scan_state {
    std::string key;         ///< prefix of the layer at work; whole key during a visit
    std::string last;        ///< last visited key
    bool visited = false;    ///< whether there is one
    bool exclusive = false;  ///< whether the start itself is left out
};

/// False: the leaf has changed since `version`.
template <any_discipline D>
inline bool masstree<D>::take_snapshot(operation& op, leaf* n, u64 version, snapshot& s) const {
    adapter_.arrive(op, *n);
    const perm p(load(n->order));
    const u64 lengths = load(n->lengths);
    s.count = std::min(p.size(), leaf::width);
    for (unsigned r = 0; r < s.count; ++r) {
        const unsigned slot = p.slot(r) % leaf::width;
        s.entries[r] = {load(n->keys[slot]), masstree_detail::length_class(lengths, slot),
                        load(n->values[slot])};
    }
    s.next = load(n->next);
    s.low_key = load(n->low_key);
    if (n->version.changed(version)) return false;
    adapter_.observed(op, *n);
    return true;
}

template <any_discipline D>
template <class F>
auto masstree<D>::scan_layer(operation& op, node* root, scan_state& s,
                             std::optional<std::string_view> bound, F& visit) -> walk {
    using masstree_detail::longer;
    namespace value_word = masstree_detail::value_word;
    const std::size_t prefix = s.key.size();
    const u64 bound_slice = bound ? masstree_detail::slice_of(*bound) : 0;
    const unsigned bound_class = !bound              ? 0
                                 : bound->size() > 8 ? longer
                                                     : static_cast<unsigned>(bound->size());
    bool at_bound = bound.has_value();  // nothing of this layer has been passed yet
    u64 position = bound_slice;         // at_bound: entries from here on; else: entries beyond
    bool any_passed = false;
    u64 v = 0;
    leaf* n = reach_leaf(root, position, v, nullptr);
    for (;;) {
        if (n == nullptr) return walk::restart;
        snapshot snap;
        if (is_deleted(v) || !take_snapshot(op, n, v, snap)) {
            n = reach_leaf(root, position, v, nullptr);
            continue;
        }
        if (snap.next != 0) masstree_detail::prefetch_node(at<node>(snap.next));
        for (unsigned r = 0; r < snap.count; ++r) {
            const entry& e = snap.entries[r];
            if (value_word::is_layer(e.value)) continue;
            __builtin_prefetch(record_at(value_word::offset(e.value)));
        }
        for (unsigned r = 0; r < snap.count; ++r) {
            const entry& e = snap.entries[r];
            bool on_bound = false;
            if (at_bound) {
                if (e.slice < bound_slice ||
                    (e.slice == bound_slice && e.length_class < bound_class)) {
                    continue;
                }
                on_bound = e.slice == bound_slice && e.length_class == bound_class;
            } else if (any_passed && e.slice <= position) {
                continue;
            }
            const u64 target = value_word::offset(e.value);
            s.key.resize(prefix);
            masstree_detail::append_slice(s.key, e.slice, e.length_class);
            if (value_word::is_layer(e.value)) {
                std::optional<std::string_view> below;
                if (on_bound) below = bound->substr(8);
                const walk w = scan_layer(op, at<node>(target), s, below, visit);
                if (w != walk::done) return w;
                continue;
            }
            const record* found = record_at(target);
            if (e.length_class == longer) {
                const std::string_view rest = found->tail().substr(prefix);
                if (on_bound) {
                    const int order = rest.compare(bound->substr(8));
                    if (order < 0 || (order == 0 && s.exclusive)) continue;
                }
                s.key.append(rest);
            } else if (on_bound && s.exclusive) {
                continue;
            }
            s.last = s.key;
            s.visited = true;
            if (!visit(std::string_view(s.key), found->value())) return walk::stopped;
        }
        // Passed: everything up to this leaf's last slice. Slices never straddle leaves (M2). But
        // the leaf may have been read again, and have lost what was visited: there is no way back.
        const u64 last = snap.count > 0 ? snap.entries[snap.count - 1].slice : 0;
        if (snap.count > 0 && last >= position) {
            position = last;
            any_passed = true;
            at_bound = false;
        }
        if (snap.next == 0) {
            s.key.resize(prefix);
            return walk::done;
        }
        n = at<leaf>(snap.next);
        v = stable(n);
    }
}

template <any_discipline D>
template <class F>
bool masstree<D>::scan(operation& op, std::string_view from, bool exclusive, F&& visit) {
    scan_state s;
    std::string start(from);
    s.exclusive = exclusive;
    for (;;) {
        s.key.clear();
        const walk w = scan_layer(op, at<node>(root_), s, std::string_view(start), visit);
        if (w == walk::done) return true;
        if (w == walk::stopped) return false;
        if (s.visited) {
            start = s.last;
            s.exclusive = true;
        }
    }
}

template <any_discipline D>
template <class F>
auto masstree<D>::scan_layer_backward(operation& op, node* root, scan_state& s, bool bounded,
                                      std::string_view bound, F& visit) -> walk {
    using masstree_detail::longer;
    namespace value_word = masstree_detail::value_word;
    const std::size_t prefix = s.key.size();
    const u64 bound_slice = bounded ? masstree_detail::slice_of(bound) : ~u64{0};
    const unsigned bound_class = bound.size() > 8 ? longer : static_cast<unsigned>(bound.size());
    u64 position = bound_slice;
    bool passed = false;  // entries at or above `position` are done
    for (;;) {
        u64 v = 0;
        leaf* n = reach_leaf(root, passed ? position - 1 : position, v, nullptr);
        if (n == nullptr) return walk::restart;
        snapshot snap;
        if (!take_snapshot(op, n, v, snap)) continue;
        for (unsigned r = snap.count; r > 0; --r) {
            const entry& e = snap.entries[r - 1];
            if (passed && e.slice >= position) continue;
            bool on_bound = false;
            if (bounded) {
                if (e.slice > bound_slice ||
                    (e.slice == bound_slice && e.length_class > bound_class)) {
                    continue;
                }
                on_bound = e.slice == bound_slice && e.length_class == bound_class;
            }
            const u64 target = value_word::offset(e.value);
            s.key.resize(prefix);
            masstree_detail::append_slice(s.key, e.slice, e.length_class);
            if (value_word::is_layer(e.value)) {
                const walk w =
                    scan_layer_backward(op, at<node>(target), s, on_bound,
                                        on_bound ? bound.substr(8) : std::string_view{}, visit);
                if (w != walk::done) return w;
                continue;
            }
            const record* found = record_at(target);
            if (e.length_class == longer) {
                const std::string_view rest = found->tail().substr(prefix);
                if (on_bound) {
                    const int order = rest.compare(bound.substr(8));
                    if (order > 0 || (order == 0 && s.exclusive)) continue;
                }
                s.key.append(rest);
            } else if (on_bound && s.exclusive) {
                continue;
            }
            s.last = s.key;
            s.visited = true;
            if (!visit(std::string_view(s.key), found->value())) return walk::stopped;
        }
        if (snap.low_key == 0) {
            s.key.resize(prefix);
            return walk::done;
        }
        position = snap.low_key;
        passed = true;
    }
}

template <any_discipline D>
template <class F>
bool masstree<D>::scan_backward(operation& op, std::optional<std::string_view> from, bool exclusive,
                                F&& visit) {
    scan_state s;
    std::string start(from.value_or(std::string_view{}));
    bool bounded = from.has_value();
    s.exclusive = exclusive;
    for (;;) {
        s.key.clear();
        const walk w =
            scan_layer_backward(op, at<node>(root_), s, bounded, std::string_view(start), visit);
        if (w == walk::done) return true;
        if (w == walk::stopped) return false;
        if (s.visited) {
            start = s.last;
            bounded = true;
            s.exclusive = true;
        }
    }
}

}  // namespace hf
