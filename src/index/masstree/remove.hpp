// remove.hpp: removes empty leaves, interior nodes without other children, and empty layers, and
// joins leaves (part of masstree.hpp).
//
// An empty leaf n is unlinked as follows. Go up from n to the lowest interior node `fork` with more
// than one child; the nodes in between have n as their only descendant and are removed with it. If
// n's branch is not the fork's first, the left neighbour takes over n's range, as the interior
// nodes then say; if it is the first, the right neighbour does, and its low key becomes n's. The
// left neighbour's `next` is set to n's `next`. If there is no fork, n was the layer's only leaf:
// the root becomes an empty leaf (M1), which drop_layer() then removes from the layer above.
//
// Two leaves are joined the same way: the neighbour that takes over n's range takes over its
// entries first. n is marked as deleted and the neighbour as splitting before that, so a reader of
// either finds its version changed, and searches again.
//
// Lock order: n and its ancestors from below, as in splits; neighbours only by try_lock. If that
// fails repeatedly, or the log has no space, n stays, empty. This is harmless: the next update that
// looks for an absent key in it tries again.
#pragma once

#include "index/masstree/asserted.hpp"
#include "index/masstree/masstree.hpp"

namespace hf {

template <any_discipline D>
struct masstree<D>::removal {
    leaf* empty = nullptr;
    std::array<interior*, max_height> between;  ///< single-child nodes, bottom up
    unsigned between_count = 0;
    /// nullptr: the layer has no other leaf; `between` ends with the root
    interior* fork = nullptr;
    unsigned branch = 0;
    leaf* left = nullptr;
    leaf* right = nullptr;  ///< locked only if it takes over n's range

    [[nodiscard]] unsigned all(std::array<node*, max_height + 4>& out) const noexcept {
        unsigned n = 0;
        out[n++] = empty;
        for (unsigned i = 0; i < between_count; ++i) out[n++] = between[i];
        for (node* other :
             {static_cast<node*>(fork), static_cast<node*>(left), static_cast<node*>(right)}) {
            if (other != nullptr) out[n++] = other;
        }
        return n;
    }
    /// The leaf that takes over the range of `empty`; not without a fork.
    [[nodiscard]] leaf& heir() const noexcept { return branch == 0 ? *right : *left; }
    /// Releases all locks but that of `empty`; the destructor calls it, too.
    void unlock_all_but_empty() noexcept {
        std::array<node*, max_height + 4> nodes;
        for (unsigned n = all(nodes); n > 1; --n) nodes[n - 1]->version.unlock();
        between_count = 0;
        fork = nullptr;
        left = right = nullptr;
    }

    removal() = default;
    removal(const removal&) = delete;
    removal& operator=(const removal&) = delete;
    ~removal() { unlock_all_but_empty(); }
};

/// Removes n, which is locked and has just become empty. Unlocks it.
template <any_discipline D>
void masstree<D>::remove_in_place(operation& op, key_cursor key, leaf* n, node* root,
                                  descent& path) {
    for (;;) {
        bool layer_is_empty = n == root;
        if (layer_is_empty) {
            n->version.unlock();
        } else {
            layer_is_empty = unlink_leaf(op, *n, root, path);
        }
        if (!layer_is_empty || key.depth() == 0) return;
        key.rewind(key.depth() - 1);
        try {
            n = drop_layer(op, key, root, path);
        } catch (const damage&) {  // the key is removed; the empty layer may stay
            return;
        }
        if (n == nullptr) return;
    }
}

/// Locks the nodes that the removal of r.empty changes. False: another thread holds one of them.
/// Throws damage.
template <any_discipline D>
bool masstree<D>::gather_removal(operation& op, removal& r, node* root, descent& path) const {
    leaf& n = *r.empty;
    const u64 low = load(n.low_key);
    for (node* child = &n; child != root;) {
        if (r.between_count == max_height) broken(offset_of(child), "a layer is too tall");
        interior* p = lock_parent(root, child, low, path);
        if (p->key_count() > 0) {
            r.fork = p;
            r.branch = p->child_index(low);
            break;
        }
        r.between[r.between_count++] = p;
        child = p;
    }
    if (r.fork == nullptr) return true;
    const auto lock_neighbour = [&](leaf* other) {
        if (!other->version.try_lock(generation_)) return false;
        if (is_deleted(other->version.load())) {
            other->version.unlock();
            return false;
        }
        held mine(*other);
        if (!is_leaf(other->version.load())) broken(offset_of(other), "a leaf is none");
        adapter_.arrive(op, *other);
        mine.let_go();
        return true;
    };
    if (low > 0) {
        u64 v = 0;
        // n is not the root, so if there is no fork to the left, n keeps the layer.
        leaf* left = reach_leaf(root, low - 1, v, nullptr);
        if (left == nullptr || !lock_neighbour(left)) return false;
        r.left = left;
        if (load(left->next) != offset_of(&n)) return false;
    }
    if (r.branch == 0) {
        const u64 next = load(n.next);
        if (next == 0) broken(offset_of(&n), "a leaf lacks a right neighbour");
        leaf* right = followed<leaf>(next);
        if (!lock_neighbour(right)) return false;
        r.right = right;
    }
    return true;
}

template <any_discipline D>
void masstree<D>::assert_may_change([[maybe_unused]] operation& op,
                                    [[maybe_unused]] const removal& r) const {
#ifndef NDEBUG
    std::array<node*, max_height + 4> nodes;
    for (unsigned n = r.all(nodes); n > 0; --n) {
        HF_ASSERT(may_change(op, *nodes[n - 1]), "M5: a node that changes is locked and logged");
    }
    const unsigned size = perm(load(r.empty->order)).size();
    HF_ASSERT(size == 0 || (r.fork != nullptr && fits_heir(r)), "a leaf with entries is removed");
#endif
}

template <any_discipline D>
bool masstree<D>::fits_heir(const removal& r) const {
    return order_of(*r.empty).size() + order_of(r.heir()).size() <= leaf::width;
}

/// Checks that the two leaves are sound, and the neighbours that r.fork separates. Throws damage.
template <any_discipline D>
void masstree<D>::check_before_join(const removal& r, u64 layer) const {
    const leaf& n = *r.empty;
    const leaf& first = r.branch == 0 ? n : r.heir();
    const leaf& second = r.branch == 0 ? r.heir() : n;
    for (const leaf* one : {&first, &second}) {
        if (one->is_of_another_layer(layer)) {
            broken(offset_of(one), "a leaf lies where another belongs");
        }
        check_entries(*one);
    }
    const perm p(load(first.order));
    if (p.size() != 0 && load(first.keys[p.slot(p.size() - 1)]) >= load(second.low_key)) {
        broken(offset_of(&second), "a leaf does not begin where the one before it ends");
    }
    // The link to the right neighbour may lead to another leaf.
    if (load(r.fork->keys[r.branch == 0 ? 0 : r.branch - 1]) != load(second.low_key)) {
        broken(offset_of(&second), "a leaf does not begin where its parent says");
    }
}

/// Moves the entries of r.empty, which is marked as deleted, to the leaf that takes over its range.
template <any_discipline D>
void masstree<D>::hand_over(removal& r) {
    leaf& n = *r.empty;
    leaf& heir = r.heir();
    std::array<entry, leaf::width> all;
    unsigned count = 0;
    for (const leaf* from : {r.branch == 0 ? &n : &heir, r.branch == 0 ? &heir : &n}) {
        const perm p(load(from->order));
        for (unsigned i = 0; i < p.size(); ++i) {
            all[count++] = entry_at(*from, load(from->lengths), p.slot(i));
        }
    }
    heir.version.mark_splitting();
    if (r.branch == 0) store(heir.low_key, load(n.low_key));
    fill_leaf(heir, all.data(), count);
    store(n.order, n.sealed_order(perm::empty().word()));
}

template <any_discipline D>
void masstree<D>::apply_removal(operation& op, removal& r) {
    leaf& n = *r.empty;
    assert_may_change(op, r);
    n.version.mark_deleted();
    const unsigned gone = r.fork != nullptr ? r.between_count : r.between_count - 1;
    for (unsigned i = 0; i < gone; ++i) r.between[i]->version.mark_deleted();
    if (perm(load(n.order)).size() != 0) hand_over(r);
    if (r.fork != nullptr) {
        interior& f = *r.fork;
        f.version.mark_splitting();
        const unsigned count = f.key_count();
        for (unsigned k = r.branch == 0 ? 0 : r.branch - 1; k + 1 < count; ++k) {
            store(f.keys[k], load(f.keys[k + 1]));
        }
        for (unsigned k = r.branch; k < count; ++k) store(f.children[k], load(f.children[k + 1]));
        store(f.count, count - 1);
        HF_ASSERT(masstree_detail::is_in_order(f), "M3: an interior node's keys ascend");
        if (r.right != nullptr) {
            r.right->version.mark_splitting();
            store(r.right->low_key, load(n.low_key));
        }
        if (r.left != nullptr) store(r.left->next, load(n.next));
    } else {
        node* root = r.between[r.between_count - 1];
        root->version.mark_splitting_to_leaf();
        auto& l = *static_cast<leaf*>(root);
        store(l.order, l.sealed_order(perm::empty().word()));
        store(l.next, 0);
        store(l.low_key, 0);
        l.set_lengths(0);
        l.settle_in(offset_of(root));
        adapter_.root_became_leaf(op, l);
    }
    const auto between = r.between;
    r.unlock_all_but_empty();
    n.version.unlock();
    retire(n);
    for (unsigned i = 0; i < gone; ++i) drop_node(op, between[i]);
    drop_node(op, &n);
}

/// Unlinks n from its layer and unlocks it. Returns true if the layer is now empty. If there is no
/// log space, other threads hold locks, or nodes around n are damaged, n stays, empty.
template <any_discipline D>
bool masstree<D>::unlink_leaf(operation& op, leaf& n, node* root, descent& path) {
    constexpr unsigned most_tries = 8;
    held mine(n);
    try {
        for (unsigned tries = 0; tries < most_tries; ++tries) {
            removal r;
            r.empty = &n;
            if (!gather_removal(op, r, root, path)) {
                cpu_relax();
                path.depth = 0;
                continue;
            }
            std::array<node*, max_height + 4> nodes;
            const unsigned count = r.all(nodes);
            if (!adapter_.log_nodes(op, {nodes.data(), count})) break;
            const bool was_last = r.fork == nullptr;
            mine.let_go();
            apply_removal(op, r);
            return was_last;
        }
    } catch (const damage&) {  // NOLINT(bugprone-empty-catch): n stays, empty, which is harmless
    }
    return false;
}

/// unlink_leaf() of a leaf with entries, if they fit into the leaf that takes over its range.
/// False: they do not, or other threads hold locks. Unlocks n.
template <any_discipline D>
result<bool> masstree<D>::join_leaf(operation& op, leaf& n, node* root, descent& path) {
    held mine(n);
    removal r;
    r.empty = &n;
    if (!gather_removal(op, r, root, path) || r.fork == nullptr || !fits_heir(r)) return false;
    check_before_join(r, offset_of(root));
    std::array<node*, max_height + 4> nodes;
    if (auto ready = adapter_.log_nodes(op, {nodes.data(), r.all(nodes)}); !ready) {
        return tl::unexpected(ready.error());
    }
    mine.let_go();
    apply_removal(op, r);
    return true;
}

template <any_discipline D>
auto masstree<D>::join(operation& op, std::string_view key_bytes) -> result<joining> {
    namespace kind = masstree_detail::cell_kind;
    constexpr unsigned max_entries = leaf::width * 3 / 4;  // with more it hardly fits anywhere
    adapter_.begin_update(op);
    key_cursor key(key_bytes);
    node* root = at<node>(root_);
    for (;;) {
        descent path;
        leaf* const n = lock_leaf(op, root, key.slice(), path);
        if (n == nullptr) return joining{};
        held mine(*n);
        const perm p = whole_order_of(*n);
        const int slot = find_slot(*n, p, key.slice(), masstree_detail::longer);
        const cell value = slot >= 0 && key.length_class() == masstree_detail::longer
                               ? opened(*n, cell_at(*n, static_cast<unsigned>(slot)))
                               : cell{};
        if (value.kind == kind::layer) {
            mine.unlock();
            root = below(masstree_detail::value_word::offset(value.word), key);
            continue;
        }
        const unsigned rank = lower_rank(*n, p, key.slice(), key.length_class());
        const unsigned after = p.size() - std::min(rank + 1, p.size());
        if (n == root || p.size() > max_entries) return joining{false, after};
        mine.let_go();
        const auto joined = join_leaf(op, *n, root, path);
        if (!joined) return tl::unexpected(joined.error());
        return joining{*joined, after};
    }
}

/// Removes the empty layer below `key` (whose depth is that of the layer above) from the leaf
/// above. Returns that leaf, locked, if it is now empty too, with `root` set to its layer's root.
template <any_discipline D>
auto masstree<D>::drop_layer(operation& op, key_cursor key, node*& root, descent& path) -> leaf* {
    using masstree_detail::longer;
    namespace value_word = masstree_detail::value_word;
    const unsigned depth = key.depth();
    key.rewind();
    node* above = at<node>(root_);
    for (;;) {
        leaf* u = lock_leaf(op, above, key.slice(), path);
        if (u == nullptr) return nullptr;
        held mine(*u);
        const perm p = whole_order_of(*u);
        const int slot = find_slot(*u, p, key.slice(), longer);
        if (slot < 0) return nullptr;
        const cell seen = cell_at(*u, static_cast<unsigned>(slot));
        const cell value = opened(*u, seen);
        if (is_torn(*u, seen, key.slice(), longer)) return nullptr;
        if (value.kind != masstree_detail::cell_kind::layer) return nullptr;
        auto* below = followed<leaf>(value_word::offset(value.word));
        if (key.depth() < depth) {
            above = below;
            key.descend();
            continue;
        }
        if (!below->version.try_lock(generation_)) return nullptr;
        held lower(*below);
        // not deleted: u, which refers to it, is locked
        bool drop = is_leaf(below->version.load());
        if (drop) {
            adapter_.arrive(op, *below);
            drop = order_of(*below).size() == 0;
        }
        node* const dropped = below;
        drop = drop && adapter_.log_nodes(op, {&dropped, 1}).has_value() &&
               adapter_.before_removal(op, *u).has_value();
        if (!drop) return nullptr;
        unsigned rank = 0;
        while (p.slot(rank) != static_cast<unsigned>(slot)) ++rank;
        const perm left = p.removed(rank);
        HF_ASSERT(left.is_valid(), "a permutation is one");
        HF_ASSERT(u->version.is_held(generation_), "a leaf that changes is locked");
        below->version.mark_deleted();
        adapter_.publish(op, u->order, u->sealed_order(left.word()));
        lower.unlock();
        drop_node(op, below);
        root = above;
        if (left.size() != 0) return nullptr;
        mine.let_go();
        return u;
    }
}

}  // namespace hf
