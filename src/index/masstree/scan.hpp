// scan.hpp: scans in both directions (part of masstree.hpp).
//
// A scan takes a validated snapshot of a leaf's entries, then visits them, leaf by leaf. Forward it
// follows `next`; backward it descends to low key - 1 (there are no prev links). Within a layer the
// position is the last visited slice; a leaf contributes only entries beyond it, so a concurrent
// split or merge neither repeats nor reorders entries. If a node, or the layer, was removed, the
// scan restarts from the last visited key.
//
// A visitor of a type with the member `visits_every_leaf` requires that the scan visits all leaves
// between its first and its last key: for it damaged keys are an error, not a shorter visit
// (check_range()).
//
// On a damaged region scans terminate, too: a step to the right that makes no progress is retried
// from the root as often as `patience.hpp` allows, and keys have a maximum length. Re-reading a
// leaf because its version has changed is not a sign of damage, however often: another thread has
// made progress.
#pragma once

#include "index/masstree/masstree.hpp"

#include <algorithm>

namespace hf {

template <any_discipline D>
struct masstree<D>::scan_state {
    std::string key;           ///< prefix of the current layer; the whole key during most visits
    std::string last;          ///< last visited key, stored by remember()
    bool visited = false;      ///< whether `last` is set
    bool got_further = false;  ///< since the last restart
    bool exclusive = false;    ///< whether the start key itself is excluded
    u64 bytes = 0;             ///< of a short key, during its visit

    /// The key of an entry in a layer with a prefix of this length; valid until the next call.
    /// Throws damage if slice and length are not in canonical form: another pair would give the
    /// same key, and a later write of that key went elsewhere.
    [[nodiscard]] std::string_view key_of(std::size_t prefix, const entry& e, const record& r) {
        if (e.length_class < masstree_detail::slice_size ? e.slice << 8 * e.length_class != 0
                                                         : e.length_class > masstree_detail::longer)
            [[unlikely]] {
            broken(masstree_detail::value_word::offset(e.value.word), "a key's slice is none");
        }
        if (prefix == 0 && e.length_class != masstree_detail::longer) [[likely]] {
            bytes = masstree_detail::bytes_of(e.slice);
            return {reinterpret_cast<const char*>(&bytes), e.length_class};
        }
        key.resize(prefix);
        masstree_detail::append_slice(key, e.slice, e.length_class);
        if (e.length_class == masstree_detail::longer) {
            const std::string_view rest = r.rest(prefix / masstree_detail::slice_size);
            if (rest.empty()) [[unlikely]] {
                broken(masstree_detail::value_word::offset(e.value.word), "a key does not go on");
            }
            key.append(rest);
        }
        return key;
    }
};

/// The last visited entry of a layer. Its key is only assembled if the scan may have to continue
/// from it: before a lower layer, and when a layer was removed.
template <any_discipline D>
struct masstree<D>::last_visit {
    entry e{};
    const record* found = nullptr;  ///< nullptr: none, or remembered already

    void remember(scan_state& s, std::size_t prefix) {
        if (found == nullptr) return;
        s.last = s.key_of(prefix, e, *found);
        s.visited = true;
        s.got_further = true;
        found = nullptr;
    }
};

/// The root of the layer below a slot, in a layer with a prefix of this length.
template <any_discipline D>
inline auto masstree<D>::layer_below(const entry& e, std::size_t prefix) const -> node* {
    const u64 offset = masstree_detail::value_word::offset(e.value.word);
    if (e.length_class != masstree_detail::longer || prefix >= masstree_detail::most_key_bytes)
        [[unlikely]] {
        broken(offset, "a layer lies below a key that ends above it");
    }
    return followed(offset);
}

/// After a crash: checks that no node on the path to a leaf still has the state of a failed epoch.
/// A scan along the leaf list needs it, because a list that was undone skips leaves that only an
/// interior node still refers to. Throws damage.
template <any_discipline D>
inline void masstree<D>::check_way(operation& op, node* root, u64 slice) const {
    descent path;
    u64 v = 0;
    (void)reach_leaf(root, slice, v, &path);
    for (unsigned i = 0; i < path.depth; ++i) adapter_.check_passed(op, *path.nodes[i]);
}

/// For a visitor that must meet every leaf: an entry of a damaged leaf whose key is too large makes
/// a scan pass over entries of the leaves that follow, and over the layers below them. Each leaf's
/// keys must ascend from its low key, and the low key of the next leaf is greater than `position`,
/// the greatest slice before it. Throws damage.
template <any_discipline D>
inline void masstree<D>::check_range(const leaf& n, const snapshot& s, bool by_link,
                                     u64 position) const {
    if (by_link ? s.low_key <= position : s.low_key > position) {
        broken(offset_of(&n), "a leaf does not begin where the one before it ends");
    }
    u64 least = s.low_key;
    unsigned length = 0;
    for (unsigned r = 0; r < s.count; ++r) {
        const entry& e = s.entries[r];
        if (e.slice < least || (r != 0 && e.slice == least && e.length_class <= length)) {
            broken(offset_of(&n), "a leaf's keys do not ascend from its low key");
        }
        least = e.slice;
        length = e.length_class;
    }
}

/// False: the leaf has changed since `version`. The values still have their seals.
template <any_discipline D>
inline bool masstree<D>::take_snapshot(operation& op, leaf* n, u64 version, snapshot& s) const {
    arrive_unlocked(op, *n, version);
    const u64 order = load(n->order);
    const perm p(order);
    const u64 lengths = load(n->lengths);
    s.count = std::min(p.size(), leaf::width);
    for (unsigned r = 0; r < s.count; ++r) {
        const unsigned slot = p.slot(r) % leaf::width;
        s.entries[r] = {load(n->keys[slot]), masstree_detail::length_class(lengths, slot),
                        cell_at(*n, slot)};
    }
    s.next = load(n->next);
    s.low_key = load(n->low_key);
    if (n->version.changed(version)) return false;
    check_order(*n, order, version);
    for (unsigned r = 0; is_inlined() && r < s.count; ++r) {
        entry& e = s.entries[r];
        if (is_torn(*n, e.value, e.slice, e.length_class) &&
            !read_again(*n, version, p.slot(r) % leaf::width, e.slice, e.length_class, e.value)) {
            return false;
        }
    }
    adapter_.observed(op, *n);
    return true;
}

/// Prefetches for a scan: the records of the next leaf, whose lines were prefetched one leaf ago,
/// and the lines of the leaf after it. So their cache misses overlap with the visits of the current
/// records. The values read here are used for nothing else.
template <any_discipline D>
inline void masstree<D>::fetch_ahead(u64 next) const noexcept {
    if (next == 0 || !can_be_followed(next)) return;
    leaf* const n = at<leaf>(next);
    const perm p(load(n->order));
    const unsigned count = std::min(p.size(), leaf::width);
    for (unsigned r = 0; r < count; ++r) {
        __builtin_prefetch(record_at(record_offset(cell_at(*n, p.slot(r) % leaf::width))));
    }
    if (const u64 behind = load(n->next); behind != 0) {
        fetch_next(at<node>(behind));
    }
}

/// Visits a value that is stored in a leaf of layer 0 and so has no record: calls visit.inlined()
/// if it exists.
template <any_discipline D>
template <class F>
bool masstree<D>::show_inlined(scan_state& s, const entry& e, last_visit& last, F& visit) {
    static constexpr record none{};  // the leaf has the whole key
    last = {e, &none};
    const std::string_view key = s.key_of(0, e, none);
    if constexpr (requires { visit.inlined(key, e.value); }) {
        return visit.inlined(key, e.value);
    } else {
        return visit(key, e.value.value());
    }
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
    bool at_bound = bound.has_value();  // no entry of this layer has been passed yet
    // at_bound: the scan includes it; otherwise entries after it
    u64 position = bound_slice;
    bool any_passed = false;
    patience doubts(damage_is_known_);  // retries without progress
    backoff busy;                       // for a leaf that concurrent writers keep changing
    bool came_by_link = false;
    u64 left = 0;  // if came_by_link: the low key of the leaf to the left
    u64 v = 0;
    last_visit last;
    leaf* n = nullptr;
    if (hints_ != nullptr && prefix == 0 && bound) {
        int slot = 0;  // if v is unchanged, a leaf that contains the key has it in its range
        n = reach_hinted(op, key_cursor(*bound), v, slot);
    }
    if (n == nullptr) n = reach_leaf(root, position, v, nullptr);
    for (;;) {
        if (n == nullptr) {
            last.remember(s, prefix);
            return walk::restart;
        }
        snapshot snap;
        const bool is_there = !is_deleted(v) && is_leaf(v);
        const bool is_of_now = is_there && take_snapshot(op, n, v, snap);
        if constexpr (requires { F::visits_every_leaf; }) {
            // The leaf may have joined one whose keys have been visited: the range is looked up.
            left = std::max(left, position);
        }
        if (!is_of_now || (came_by_link && snap.low_key <= left)) {
            if (is_there && !is_of_now) {
                busy.wait();
            } else {
                doubts.again(offset_of(n));
            }
            came_by_link = false;
            n = reach_leaf(root, position, v, nullptr);
            continue;
        }
        if (adapter_.is_after_crash(op)) [[unlikely]] {
            check_way(op, root, snap.low_key);
        }
        if constexpr (requires { F::visits_every_leaf; }) {
            check_range(*n, snap, came_by_link, position);
        }
        const auto comes_later = [&](const entry& e) {
            if (!at_bound) return !any_passed || e.slice > position;
            return e.slice > bound_slice ||
                   (e.slice == bound_slice && e.length_class >= bound_class);
        };
        unsigned first = 0;
        while (first < snap.count && !comes_later(snap.entries[first])) ++first;
        // A visitor with room() gets no more prefetches than it has room for. Others are assumed to
        // continue once they have reached their second leaf, because most scans are short.
        const std::size_t left_here = snap.count - first;
        std::size_t wanted = left_here;
        bool goes_on = came_by_link;
        if constexpr (requires { visit.room(); }) {
            goes_on = visit.room() > left_here;
            wanted = std::min(left_here, visit.room());
        }
        for (unsigned r = first; r < first + wanted; ++r) {
            const entry& e = snap.entries[r];
            if (e.value.kind != masstree_detail::cell_kind::record) continue;
            __builtin_prefetch(record_at(value_word::offset(e.value.word)));
        }
        if (goes_on) {
            fetch_ahead(snap.next);
        } else if (wanted == left_here && snap.next != 0) {
            fetch_next(at<node>(snap.next));
        }
        for (unsigned r = first; r < snap.count; ++r) {
            const entry& e = snap.entries[r];
            if (!comes_later(e)) continue;  // in a damaged leaf keys may not ascend
            const bool on_bound =
                at_bound && e.slice == bound_slice && e.length_class == bound_class;
            const cell value = opened(*n, e.value);
            if (masstree_detail::cell_kind::is_inline(value.kind)) {
                if (prefix != 0 || e.length_class == longer) {
                    broken(offset_of(n), "a value in a leaf is of too long a key");
                }
                if (on_bound && s.exclusive) continue;
                if (!show_inlined(s, e, last, visit)) return walk::stopped;
                continue;
            }
            const u64 target = value_word::offset(value.word);
            if (value.kind == masstree_detail::cell_kind::layer) {
                last.remember(s, prefix);
                s.key.resize(prefix);
                masstree_detail::append_slice(s.key, e.slice, e.length_class);
                std::optional<std::string_view> below;
                if (on_bound) below = bound->substr(8);
                const walk w = scan_layer(op, layer_below(e, prefix), s, below, visit);
                if (w != walk::done) return w;
                continue;
            }
            const record* found = &sized_record(target);
            if (on_bound && e.length_class == longer) {
                const auto rest = found->rest(prefix / masstree_detail::slice_size);
                const int order = rest.compare(bound->substr(8));
                if (order < 0 || (order == 0 && s.exclusive)) continue;
            } else if (on_bound && s.exclusive) {
                continue;
            }
            last = {e, found};
            if (!visit(s.key_of(prefix, e, *found), found->value())) return walk::stopped;
        }
        // All entries up to this leaf's last slice are passed; equal slices are in one leaf (M2).
        // The leaf may have been re-read and entries that were already visited removed; the
        // position never moves backwards.
        const u64 greatest = snap.count > 0 ? snap.entries[snap.count - 1].slice : 0;
        if (snap.count > 0 && greatest >= position) {
            if (!any_passed || greatest > position) doubts.reset();
            position = greatest;
            any_passed = true;
            at_bound = false;
        }
        if (snap.next == 0) {
            last.remember(s, prefix);
            return walk::done;
        }
        came_by_link = true;
        left = snap.low_key;
        n = followed<leaf>(snap.next);
        v = stable(n);
    }
}

template <any_discipline D>
template <class F>
bool masstree<D>::scan(operation& op, std::string_view from, bool exclusive, F&& visit) {
    scan_state s;
    std::string start(from);
    s.exclusive = exclusive;
    for (patience left(damage_is_known_);; left.again(root_)) {
        s.key.clear();
        s.got_further = false;
        const walk w = scan_layer(op, at<node>(root_), s, std::string_view(start), visit);
        if (w == walk::done) return true;
        if (w == walk::stopped) return false;
        if (s.got_further) left.reset();
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
    backoff busy;         // for a leaf that concurrent writers keep changing
    last_visit last;
    for (;;) {
        u64 v = 0;
        const u64 wanted = passed ? position - 1 : position;
        leaf* n = reach_leaf(root, wanted, v, nullptr);
        if (n == nullptr) {
            last.remember(s, prefix);
            return walk::restart;
        }
        snapshot snap;
        if (!take_snapshot(op, n, v, snap)) {
            busy.wait();
            continue;
        }
        if (snap.low_key > wanted) broken(offset_of(n), "a leaf lies where another belongs");
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
            const cell value = opened(*n, e.value);
            if (masstree_detail::cell_kind::is_inline(value.kind)) {
                if (prefix != 0 || e.length_class == longer) {
                    broken(offset_of(n), "a value in a leaf is of too long a key");
                }
                if (on_bound && s.exclusive) continue;
                if (!show_inlined(s, e, last, visit)) return walk::stopped;
                continue;
            }
            const u64 target = value_word::offset(value.word);
            if (value.kind == masstree_detail::cell_kind::layer) {
                last.remember(s, prefix);
                s.key.resize(prefix);
                masstree_detail::append_slice(s.key, e.slice, e.length_class);
                const walk w =
                    scan_layer_backward(op, layer_below(e, prefix), s, on_bound,
                                        on_bound ? bound.substr(8) : std::string_view{}, visit);
                if (w != walk::done) return w;
                continue;
            }
            const record* found = &sized_record(target);
            if (on_bound && e.length_class == longer) {
                const auto rest = found->rest(prefix / masstree_detail::slice_size);
                const int order = rest.compare(bound.substr(8));
                if (order > 0 || (order == 0 && s.exclusive)) continue;
            } else if (on_bound && s.exclusive) {
                continue;
            }
            last = {e, found};
            if (!visit(s.key_of(prefix, e, *found), found->value())) return walk::stopped;
        }
        if (snap.low_key == 0) {
            last.remember(s, prefix);
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
    for (patience left(damage_is_known_);; left.again(root_)) {
        s.key.clear();
        s.got_further = false;
        const walk w =
            scan_layer_backward(op, at<node>(root_), s, bounded, std::string_view(start), visit);
        if (w == walk::done) return true;
        if (w == walk::stopped) return false;
        if (s.got_further) left.reset();
        if (s.visited) {
            start = s.last;
            bounded = true;
            s.exclusive = true;
        }
    }
}

}  // namespace hf
