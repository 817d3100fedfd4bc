// eager_masstree/unlink.hpp: part of eager_masstree.hpp: removes empty leaves.
//
//      level 1   | .. 17  40  52 .. |          1. its separator is removed, durably         M5
//                     |   |   |                2. left.last = 51, left.next = right          M6
//      level 0     left -> n -> right          3. n is marked as gone, and retired
//                 17-39  40-51
//
// The left neighbour takes over the range, so a separator is the first key of its child as long as
// the child exists. Both words of step 2 are in one line, stored in this order: with `last` alone
// the leaf is a right half without keys, like after an interrupted split (repair()). After step 1
// alone the separator is inserted again by the thread that reclaims the left neighbour's stale
// lock; if that lock word was not written back, the separator stays missing, which costs a step to
// the right (I1).
//
// Other operations may still reach the leaf. Readers find it empty, as it was when its range was
// taken over, and go right. Writers wait for its lock, and descend again.
//
// An interior node keeps its first pair, because smaller keys would have no child otherwise. So the
// first of several children stays; an only child is removed together with its parent, in the same
// way. When a parent is left with a single child, that one is checked again. The first node of a
// level stays.
#pragma once

#include "index/eager_masstree/eager_masstree.hpp"

namespace hf {

/// Removes the empty leaf of a slice, and nodes that were only kept because of it. No lock may be
/// held.
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

/// Removes the node whose range begins with `low` if it is an empty leaf, or an interior node whose
/// only child is `child`. `lonely`: set to the first key of a parent's only remaining child, if
/// there is one.
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

/// Unlinks the right one of two neighbours, which are locked and stay so. False: its parent needs
/// it.
template <class D, class Keys>
bool eager_masstree<D, Keys>::detach(operation& op, root_block& root, node& left, node& n,
                                     u64& lonely) {
    using namespace eager_masstree_detail;
    const u64 offset = offset_from(base_, &n);
    // No other thread can insert it again: a split or repair of the left neighbour needs its lock.
    if (!unpost(op, root, n.level() + 1, left.last.load() + 1, offset, lonely)) return false;
    const u64 next = n.next.load();
    if (next != 0) op.shade(*this, next, static_cast<u32>(what::node));
    op.persist_unpublished();
    HF_PERSIST_POINT("masstree M5: a separator is durably gone before its child's range is");
    left.last.store(n.last.load());
    left.lock.count_version();  // I5: between both
    op.publish(left.next, next);
    op.persist_publication();
    HF_PERSIST_POINT("masstree M6: a node is durably unlinked before it is gone");
    n.lock.set_flags(node::gone, true);
    op.retire(*this, offset, static_cast<u32>(what::node));
    return true;
}

/// Removes a separator from a level, if it exists. False: it is the first of several.
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
        op.persist_unpublished();
        op.publish(n.order, o.removed(place.rank).word());
        n.lock.count_version();  // I5
        op.persist_publication();
        if (o.size() == 2) lonely = n.key_at(o, 0);
    }
    n.lock.unlock();
    if (word != child) op.fail(&n, "a separator points to another node than its level does");
    if (!place.is_there || place.rank != 0) return true;
    return o.size() == 1 && unlink(op, root, level, separator, child, lonely);
}

}  // namespace hf
