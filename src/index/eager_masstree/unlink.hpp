// eager_masstree/unlink.hpp: a part of eager_masstree.hpp: a leaf that has become empty goes.
//
//      level 1   | .. 17  40  52 .. |          1. its separator goes, and is durably gone   M5
//                     |   |   |                2. left.last = 51, left.next = right          M6
//      level 0     left -> n -> right          3. it is gone: retired
//                 17-39  40-51
//
// Its left neighbour takes its range, so what a separator names is its child's first key for as
// long as the child lives. Both words of 2. lie in one line, in this order: with `last` alone the
// leaf is a right half without keys, as a split leaves it that was cut short (repair()). Behind 1.
// alone its separator is posted again by who finds the left one's lock dead; if that lock was not
// written back, nobody does, and it costs a step to the right (I1).
//
// Who is on its way may come to the leaf all the same. Readers find it empty, as it was when its
// range went over, and go on to the right. Writers wait for its lock, and go down again.
//
// An interior node keeps its first pair, or keys would be below all. So the first child of several
// stays; an only child takes its parent with it, which goes in the same way. When a parent is left
// with a single child, this one is looked at again. The first node of a level stays.
#pragma once

#include "index/eager_masstree/eager_masstree.hpp"

namespace hf {

/// The leaf of a slice was seen empty: it goes, and what stayed only for its sake. No lock is held.
template <class D, class Keys>
void eager_masstree<D, Keys>::unlink_empty(operation& op, root_block& root, u64 slice) {
    op.arrived();
    u64 low = descend(op, root, slice, 0).low;
    while (low != 0) {
        op.arrived();
        u64 lonely = 0;
        if (!unlink(op, root, 0, low, 0, lonely)) return;
        low = lonely;
    }
}

/// The node whose keys begin with `low` goes, if it is an empty leaf, or has that child alone.
/// `lonely`: with what key the only child begins that a parent has kept, if one has.
template <class D, class Keys>
bool eager_masstree<D, Keys>::unlink(operation& op, root_block& root, unsigned level, u64 low,
                                     u64 child, u64& lonely) {
    node& left = lock_for(op, root, descend(op, root, low - 1, level).n, low - 1, level);
    const bool has_gone = or_give_back(left.lock, [&] {
        const u64 offset = left.next.load();
        if (offset == 0 || left.last.load() != low - 1) return false;
        node& n = *at<node>(offset);
        if (&n == &left || n.level() != level) {
            op.fail(&left, "a node's right neighbour is none of its level");
        }
        const bool is_of_dead = op.take(n.lock, &n, sizeof n);
        const bool goes = or_give_back(n.lock, [&] {
            if (is_of_dead) repair(op, root, n);
            const order_word o = n.used();
            const bool is_spare =
                level == 0 ? o.size() == 0 : o.size() == 1 && n.pair_at(o, 0).word.load() == child;
            return is_spare && detach(op, root, left, n, lonely);
        });
        n.lock.unlock();
        return goes;
    });
    left.lock.unlock();
    return has_gone;
}

/// Of two neighbours, which are locked and stay so, the right one goes. False: its parent needs it.
template <class D, class Keys>
bool eager_masstree<D, Keys>::detach(operation& op, root_block& root, node& left, node& n,
                                     u64& lonely) {
    using namespace eager_masstree_detail;
    const u64 offset = offset_from(base_, &n);
    // Nobody else posts it: who splits the left one, or repairs it, has the left one's lock.
    if (!unpost(op, root, n.level() + 1, left.last.load() + 1, offset, lonely)) return false;
    const u64 next = n.next.load();
    if (next != 0) op.shade(*this, next, static_cast<u32>(what::node));
    op.settle();
    HF_PERSIST_POINT("masstree M5: a separator is durably gone before its child's range is");
    left.last.store(n.last.load());
    left.lock.count_version();  // I5: between both
    op.publish(left.next, next);
    op.commit();
    HF_PERSIST_POINT("masstree M6: a node is durably unlinked before it is gone");
    n.lock.set_flags(node::gone, true);
    op.retire(*this, offset, static_cast<u32>(what::node));
    return true;
}

/// A separator goes from a level, or is not there. False: it is the first of several.
template <class D, class Keys>
bool eager_masstree<D, Keys>::unpost(operation& op, root_block& root, unsigned level, u64 separator,
                                     u64 child, u64& lonely) {
    op.took_step();
    node* const found = descend(op, root, separator, level).n;
    if (found == nullptr) return true;
    node& n = lock_for(op, root, found, separator, level);
    const order_word o = n.used();
    if (!o.is_valid()) {
        n.lock.unlock();
        op.fail(&n, "a node's order is impossible");
    }
    const auto place = n.template find<false>(o, separator, 0);
    const u64 word = place.is_there ? n.pair_at(o, place.rank).word.load() : child;
    if (place.is_there && word == child && place.rank != 0) {
        op.settle();
        op.publish(n.order, o.removed(place.rank).word());
        n.lock.count_version();  // I5
        op.commit();
        if (o.size() == 2) lonely = n.key_at(o, 0);
    }
    n.lock.unlock();
    if (word != child) op.fail(&n, "a separator leads to another node than its level does");
    if (!place.is_there || place.rank != 0) return true;
    return o.size() == 1 && unlink(op, root, level, separator, child, lonely);
}

}  // namespace hf
