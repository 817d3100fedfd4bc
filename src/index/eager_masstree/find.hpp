// eager_masstree/find.hpp: a part of eager_masstree.hpp: ways down, and get.
#pragma once

#include "index/eager_masstree/eager_masstree.hpp"

#include <algorithm>

namespace hf {

/// What a writer is changing is noted: it is durable before it is relied upon.
template <class D, class Keys>
[[gnu::always_inline]] inline void eager_masstree<D, Keys>::saw_node(operation& op, const node& n,
                                                                     u64 lock_word) noexcept {
    op.saw_word(lock_word, &n, sizeof(node));
}

/// The keys wanted are above `last`, which was loaded behind the lock's word `before`. The link
/// goes with that `last`, or nobody moves: the node may have taken its neighbour's range meanwhile,
/// and lead past it (I5).
template <class D, class Keys>
void eager_masstree<D, Keys>::go_right(operation& op, spot& s, u64 before, u64 last) const {
    op.took_step();
    const u64 next = s.n->next.load();
    const u64 after = s.n->lock.load();
    if (is_changed(before, after)) return;
    saw_node(op, *s.n, after);
    s = {at<node>(next), last + 1};
}

/// The node of a level to which a slice belongs, or did a moment ago; none: no such level yet.
template <class D, class Keys>
auto eager_masstree<D, Keys>::descend(operation& op, const root_block& root, u64 slice,
                                      unsigned level) const -> spot {
    spot s{at<node>(root.word.load()), 0};
    op.saw(root.lock, &root, sizeof root);
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
        saw_node(op, *s.n, after);
        s = {at<node>(child), std::max(s.low, low)};
    }
}

/// In the leaf that descend() has found, or to the right of it.
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
        saw_node(op, *s.n, after);
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
        op.observed();
        if (!e.is_there || is_of_another(c, e.word)) return false;
        found(value_if_sound(e.word));
        return true;
    }
}

}  // namespace hf
