// eager_masstree/split.hpp: part of eager_masstree.hpp: locking, splits, and their repair.
#pragma once

#include "index/eager_masstree/eager_masstree.hpp"

namespace hf {

/// Locks the node of `level` whose range contains the slice, starting at `n` and going right.
/// Throws damage.
template <class D, class Keys>
auto eager_masstree<D, Keys>::lock_for(operation& op, root_block& root, node* n, u64 slice,
                                       unsigned level) -> node& {
    for (;;) {
        op.took_step();
        if (n->level() != level) op.fail(n, "a node lies on a level that is not its own");
        if (op.take(n->lock, n, sizeof *n)) {
            or_give_back(n->lock, [&] { repair(op, root, *n); });
        }
        if (n->is_gone()) [[unlikely]] {
            // The left neighbour has its keys. The thread that marked this node had unlinked it
            // first, so a new descent does not reach it.
            n->lock.unlock();
            n = descend(op, root, slice, level).n;
            if (n == nullptr) op.fail(&root, "a level has gone");
            continue;
        }
        if (slice <= n->last.load()) return *n;
        const u64 next = n->next.load();
        n->lock.unlock();
        if (next == 0) op.fail(n, "the last node of a level is not the last");
        n = at<node>(next);
    }
}

/// A reference is about to be copied into another node, which the sweep may have traced already.
template <class D, class Keys>
void eager_masstree<D, Keys>::shade_pair(operation& op, const node& n, unsigned slot) {
    using namespace eager_masstree_detail;
    const u64 word = n.pairs[slot].word.load();
    if (n.level() != 0) {
        op.shade(*this, word, static_cast<u32>(what::node));
    } else if constexpr (has_layers) {
        op.shade(*this, entry_word::offset_of(word), entry_word::kind_of(word));
    }
}

/// The number of pairs that stay in a full node when it is split to make room for `slice`; 0: it
/// cannot be split (I4). Half of them; but all that fit, if keys are inserted in ascending order.
template <class D, class Keys>
unsigned eager_masstree<D, Keys>::kept_in_split(const node& n, order_word o, u64 slice) noexcept {
    using eager_masstree_detail::width;
    const auto parts = [&](unsigned rank) { return n.key_at(o, rank - 1) != n.key_at(o, rank); };
    if (n.next.load() == 0 && slice > n.key_at(o, width - 1)) {
        unsigned keeps = width - 1;
        while (keeps != 0 && !parts(keeps)) --keeps;
        return keeps;
    }
    unsigned keeps = width / 2;
    for (unsigned d = 1; !parts(keeps); ++d) {
        if (d == width - 1) return 0;
        keeps = d % 2 != 0 ? keeps + d : keeps - d;
    }
    return keeps;
}

/// Splits a full node, which is locked and stays so; the right half is not locked. One of both has
/// room for `slice`, or will after another split.
template <class D, class Keys>
result<void> eager_masstree<D, Keys>::split(operation& op, root_block& root, node& n, u64 slice) {
    using namespace eager_masstree_detail;
    const order_word o = n.used();
    const auto refuse = [&](const char* why) {
        return failure(damaged("split a node", offset_from(base_, &n), why));
    };
    if (!o.is_valid() || n.level() == highest_level) return refuse("a node's order is impossible");
    const unsigned keeps = kept_in_split(n, o, slice);
    if (keeps == 0) return refuse("all keys of a node are the same");  // I4 is violated
    auto made = op.allocate_node(sizeof(node));
    if (!made) return tl::unexpected(made.error());
    node& right = *at<node>(*made);
    const u64 separator = n.key_at(o, keeps);
    const unsigned level = n.level();
    const u64 next = n.next.load();
    right.fill_header(level, op.generation(), width - keeps, next, n.last.load());
    for (unsigned r = keeps; r < width; ++r) {
        right.fill_pair(r - keeps, n.key_at(o, r), n.pairs[o.slot(r)].word.load());
        shade_pair(op, n, o.slot(r));
    }
    if (next != 0) op.shade(*this, next, static_cast<u32>(what::node));
    op.written(&right, node::fresh_bytes(width - keeps));
    op.persist_unpublished();
    HF_PERSIST_POINT("masstree M1: a right half is durable before its left half leads to it");
    n.next.store(*made);
    n.last.store(separator - 1);
    op.publish(n.order, (o.word() & ~u64{15}) | keeps);
    n.lock.count_version();  // I5
    op.persist_publication();
    HF_PERSIST_POINT("masstree M2: a split is durable before its separator");
    post(op, root, level + 1, separator, *made);
    HF_PERSIST_POINT("masstree M3: a separator is durable before the left half is unlocked");
    return {};
}

/// Inserts a separator into a level. Without memory it is left out (I1).
template <class D, class Keys>
void eager_masstree<D, Keys>::post(operation& op, root_block& root, unsigned level, u64 separator,
                                   u64 child) {
    for (;;) {
        op.took_step();
        node* const found = descend(op, root, separator, level).n;
        if (found == nullptr) {
            if (grow(op, root, level, separator, child)) return;
            continue;
        }
        node& n = lock_for(op, root, found, separator, level);
        const bool is_over = or_give_back(n.lock, [&] {
            const order_word o = n.used();
            const auto place = n.template find<false>(o, separator, 0);
            const bool splits = !place.is_there && o.full();
            if (!place.is_there && !splits) put(op, n, place.rank, separator, child);
            return !splits || !split(op, root, n, separator);
        });
        n.lock.unlock();
        if (is_over) return;
    }
}

/// Adds a root above the current one. False: another thread has already done so.
template <class D, class Keys>
bool eager_masstree<D, Keys>::grow(operation& op, root_block& root, unsigned level, u64 separator,
                                   u64 child) {
    using namespace eager_masstree_detail;
    op.take(root.lock, &root, sizeof root);
    const u64 below = root.word.load();
    const bool is_wanted = at<node>(below)->level() < level;
    if (is_wanted) {
        if (auto made = op.allocate_node(sizeof(node))) {
            node& n = *at<node>(*made);
            n.fill_header(level, op.generation(), 2, 0, highest);
            n.fill_pair(0, 0, below);
            n.fill_pair(1, separator, child);
            op.written(&n, node::fresh_bytes(2));
            op.shade(*this, below, static_cast<u32>(what::node));
            op.persist_unpublished();
            op.publish(root.word, *made);
            op.persist_publication();
        }
    }
    root.lock.unlock();
    return is_wanted;
}

/// Completes the change that a dead process left in a node, whose stale lock the caller has
/// reclaimed.
template <class D, class Keys>
void eager_masstree<D, Keys>::repair(operation& op, root_block& root, node& n) {
    using namespace eager_masstree_detail;
    const u64 last = n.last.load();
    u64 next = n.next.load();
    if (next != 0 && (at<node>(next) == &n || at<node>(next)->level() != n.level() ||
                      n.level() == highest_level)) {
        op.fail(&n, "a node's right neighbour is none of its level");
    }
    if (next != 0 && at<node>(next)->last.load() == last) {
        // The right half never got its keys.
        const u64 unused = std::exchange(next, at<node>(next)->next.load());
        if (next != 0) op.shade(*this, next, static_cast<u32>(what::node));
        op.persist_unpublished();
        op.publish(n.next, next);
        op.persist_publication();
        op.retire(*this, unused, static_cast<u32>(what::node));
    }
    const order_word o = n.used();
    unsigned keeps = o.size();
    while (keeps != 0 && n.key_at(o, keeps - 1) > last) --keeps;
    if (keeps != o.size()) {
        op.persist_unpublished();
        op.publish(n.order, (o.word() & ~u64{15}) | keeps);
        n.lock.count_version();  // I5
        op.persist_publication();
    }
    if (next != 0) post(op, root, n.level() + 1, last + 1, next);
}

}  // namespace hf
