// eager_masstree/find.hpp: part of eager_masstree.hpp: descents, and get.
#pragma once

#include "index/eager_masstree/eager_masstree.hpp"

#include <algorithm>

namespace hf {

/// Records a node's lines if a writer holds its lock, so that they are durable before the operation
/// depends on them.
template <class D, class Keys>
[[gnu::always_inline]] inline void eager_masstree<D, Keys>::note_node_read(operation& op,
                                                                           const node& n,
                                                                           u64 lock_word) noexcept {
    op.note_dependency(lock_word, &n, sizeof(node));
}

/// Moves right, because the searched slice is above `last`, which was loaded after the lock word
/// `before`. Stays if the version has changed: the node may have taken over its neighbour's range,
/// and `next` may skip the neighbour (I5).
template <class D, class Keys>
void eager_masstree<D, Keys>::go_right(operation& op, spot& s, u64 before, u64 last) const {
    op.took_step();
    const u64 next = s.n->next.load();
    const u64 after = s.n->lock.load();
    if (is_changed(before, after)) return;
    note_node_read(op, *s.n, after);
    s = {at<node>(next), last + 1};
}

/// Returns the node of a level whose range contained the slice a moment ago; n = nullptr: the level
/// does not exist yet.
template <class D, class Keys>
auto eager_masstree<D, Keys>::descend(operation& op, const root_block& root, u64 slice,
                                      unsigned level) const -> spot {
    spot s{at<node>(root.word.load()), 0};
    op.note_dependency(root.lock, &root, sizeof root);
    if (s.n->level() < level) return {nullptr, 0};
    return descend(op, s, slice, level);
}

template <class D, class Keys>
auto eager_masstree<D, Keys>::descend(operation& op, spot s, u64 slice, unsigned level) const
    -> spot {
    for (;;) {
        s.n->prefetch();
        const u64 before = s.n->lock.load();
        if (const u64 last = s.n->last.load(); slice > last) {
            go_right(op, s, before, last);
            continue;
        }
        if (node::level_in(before) == level) return s;
        op.took_step();
        const order_word o = s.n->used();
        const int rank = s.n->child_rank(o, slice);
        const auto& p = s.n->pair_at(o, static_cast<unsigned>(std::max(rank, 0)));
        const u64 low = p.key.load();
        const u64 child = p.word.load();
        const u64 after = s.n->lock.load();
        if (rank < 0 || is_changed(before, after)) continue;
        note_node_read(op, *s.n, after);
        s = {at<node>(child), std::max(s.low, low)};
    }
}

/// Finds an entry in the leaf that descend() has returned, or to the right of it.
template <class D, class Keys>
auto eager_masstree<D, Keys>::find(operation& op, spot s, const cursor& c) const -> entry {
    for (;;) {
        const u64 before = s.n->lock.load();
        if (const u64 last = s.n->last.load(); c.slice() > last) {
            go_right(op, s, before, last);
            continue;
        }
        const order_word o = s.n->used();
        const auto place = s.n->template find<has_layers>(o, c.slice(), c.length_class());
        const u64 word = place.is_there ? s.n->pair_at(o, place.rank).word.load() : 0;
        op.took_step();
        const u64 after = s.n->lock.load();
        if (is_changed(before, after)) continue;
        note_node_read(op, *s.n, after);
        return {place.is_there, word};
    }
}

template <class D, class Keys>
template <class Found>
bool eager_masstree<D, Keys>::get(operation& op, key k, Found&& found) const {
    using namespace eager_masstree_detail;
    cursor c(k);
    const root_block* root = root_;
    for (;;) {
        const entry e = find(op, descend(op, *root, c.slice(), 0), c);
        if constexpr (has_layers) {
            if (e.is_there && entry_word::is_layer(e.word)) {
                root = at<root_block>(entry_word::offset_of(e.word));
                check_goes_on(op, c, root);
                c.descend();
                continue;
            }
        }
        op.persist_dependencies();
        if (!e.is_there || is_of_another(c, e.word)) return false;
        found(value_if_sound(e.word));
        return true;
    }
}

}  // namespace hf
