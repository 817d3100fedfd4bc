// split.hpp: splits a full leaf (part of masstree.hpp).
//
// Steps of a split: (1) lock the leaf, then its parent, and so on up to the first interior node
// with room, or the layer's root; (2) allocate all new nodes; (3) log all locked nodes with one
// fence; (4) mark, change, unlock. Steps 1 to 3 can fail, and then release everything. Step 4
// cannot fail: step 1 has checked that the nodes are sound.
#pragma once

#include "index/masstree/asserted.hpp"
#include "index/masstree/masstree.hpp"

namespace hf {

template <any_discipline D>
struct masstree<D>::split_plan {
    std::array<node*, max_height + 1> locked;  ///< leaf first, then upwards
    unsigned count = 0;
    bool top_is_root_and_full =
        false;  ///< the last locked node is the layer's root and has no room
    std::array<node*, 2 * max_height + 4> fresh;
    unsigned fresh_count = 0;
    unsigned fresh_used = 0;

    /// The number of `locked` nodes that the destructor does not unlock: the leaf, and none once it
    /// was split.
    unsigned kept = 1;

    split_plan() = default;
    split_plan(const split_plan&) = delete;
    split_plan& operator=(const split_plan&) = delete;
    /// Unlocks from the top: a thread that reads a child then finds its parent complete.
    ~split_plan() {
        for (unsigned i = count; i > kept; --i) locked[i - 1]->version.unlock();
    }
    [[nodiscard]] node* take() noexcept { return fresh[fresh_used++]; }
};

/// Locks the parent of `child`, a locked node that is not its layer's root and whose range contains
/// `slice`.
template <any_discipline D>
auto masstree<D>::lock_parent(node* root, node* child, u64 slice, descent& path) const
    -> interior* {
    for (patience left(damage_is_known_);;) {
        while (interior* p = path.pop()) {
            lock(p);
            const u64 v = p->version.load();
            if (!is_deleted(v) && !is_leaf(v) &&
                load(p->children[p->child_index(slice)]) == offset_of(child)) {
                return p;
            }
            p->version.unlock();
        }
        // The path was stale: descend again, down to the node above `child`.
        for (bool found = false; !found;) {
            left.again(offset_of(child));
            path.depth = 0;
            node* n = root;
            u64 v = stable(n);
            while (!is_leaf(v) && !is_deleted(v)) {
                auto* in = static_cast<interior*>(n);
                const u64 next = load(in->children[in->child_index(slice)]);
                if (in->version.changed(v)) break;
                if (path.depth == max_height) broken(offset_of(in), "a layer is too tall");
                path.push(in);
                if (next == offset_of(child)) {
                    found = true;
                    break;
                }
                n = followed(next);
                fetch(n);
                v = stable(n);
            }
        }
    }
}

/// Checks that the entries of a full leaf can be divided. Throws damage.
template <any_discipline D>
void masstree<D>::check_before_split(const leaf& n) const {
    const perm p = whole_order_of(n);
    const u64 first = load(n.keys[p.slot(0)]);
    const u64 last = load(n.keys[p.slot(leaf::width - 1)]);
    if (first == last) broken(offset_of(&n), "the keys of a leaf do not ascend");
    check_entries(n);
}

/// Checks that the entries of a leaf may move to another. Throws damage.
template <any_discipline D>
void masstree<D>::check_entries(const leaf& n) const {
    if (!masstree_detail::is_in_order(n)) {
        broken(offset_of(&n), "the keys of a leaf do not ascend");
    }
    const perm p = whole_order_of(n);
    for (unsigned r = 0; r < p.size(); ++r) {
        const unsigned s = p.slot(r);
        const cell c = cell_at(n, s);
        (void)opened(n, c);
        if (is_torn(n, c, load(n.keys[s]), masstree_detail::length_class(load(n.lengths), s))) {
            broken(offset_of(&n), "a value in a leaf contradicts its check");
        }
    }
}

/// Step 1.
template <any_discipline D>
void masstree<D>::lock_path_up(split_plan& plan, node* root, u64 slice, descent& path) const {
    node* n = plan.locked[0];
    for (;;) {
        if (n == root) {
            plan.top_is_root_and_full = true;
            return;
        }
        if (plan.count == plan.locked.size()) broken(offset_of(n), "a layer is too tall");
        interior* p = lock_parent(root, n, slice, path);
        plan.locked[plan.count++] = p;
        if (!masstree_detail::is_in_order(*p)) {
            broken(offset_of(p), "the keys of an interior node do not ascend");
        }
        if (p->key_count() < interior_width) return;
        n = p;
    }
}

/// Step 2: one new node for each full one, two for a full root.
template <any_discipline D>
result<void> masstree<D>::get_nodes(operation& op, split_plan& plan, const node* root) {
    const unsigned full = plan.top_is_root_and_full ? plan.count : plan.count - 1;
    for (unsigned i = 0; i < full; ++i) {
        const bool is_root = i + 1 == plan.count;  // a last node with room is not among them
        for (unsigned k = 0; k < (is_root ? 2U : 1U); ++k) {
            node* made = nullptr;
            result<void> failed;
            if (i == 0) {
                auto l = new_leaf(op, root);
                if (l) {
                    made = *l;
                } else {
                    failed = tl::unexpected(l.error());
                }
            } else {
                auto in = new_interior(op);
                if (in) {
                    made = *in;
                } else {
                    failed = tl::unexpected(in.error());
                }
            }
            if (!failed) {
                while (plan.fresh_count > 0) drop_node(op, plan.fresh[--plan.fresh_count]);
                return failed;
            }
            plan.fresh[plan.fresh_count++] = made;
        }
    }
    return {};
}

/// On success all nodes, n included, are unlocked; on error only n is still locked.
template <any_discipline D>
result<void> masstree<D>::split_in_place(operation& op, leaf& n, node* root, descent& path,
                                         const entry& e) {
    check_before_split(n);
    split_plan plan;
    plan.locked[plan.count++] = &n;
    lock_path_up(plan, root, e.slice, path);
    auto ready = get_nodes(op, plan, root);
    if (ready) {
        ready = adapter_.log_nodes(op, {plan.locked.data(), plan.count});
        if (!ready) {
            while (plan.fresh_count > 0) drop_node(op, plan.fresh[--plan.fresh_count]);
        }
    }
    if (!ready) return ready;
    plan.kept = 0;
    for (unsigned i = 0; i < plan.count; ++i) {
        HF_ASSERT(may_change(op, *plan.locked[i]), "M5: a node that changes is locked and logged");
        plan.locked[i]->version.mark_splitting();
    }
    if (plan.count == 1) {
        divide_root_leaf(op, plan, n, e);
    } else {
        u64 separator = 0;
        node* right = nullptr;
        divide_leaf(op, plan, n, e, separator, right);
        for (unsigned i = 1; i < plan.count; ++i) {
            auto& p = *static_cast<interior*>(plan.locked[i]);
            if (p.key_count() < interior_width) {
                insert_child(p, separator, right);
            } else {
                const bool is_root = i + 1 == plan.count;  // full and last
                if (is_root) {
                    node* left = plan.take();
                    // become_parent() below requires that the old contents were moved.
                    u64 up = separator;
                    node* new_right = right;
                    divide_interior(plan, p, true, up, new_right);
                    auto* l = static_cast<interior*>(left);
                    std::array<u64, interior_width> keys;
                    std::array<u64, interior_width + 1> children;
                    const unsigned k = p.key_count();
                    for (unsigned j = 0; j < k; ++j) keys[j] = load(p.keys[j]);
                    for (unsigned j = 0; j <= k; ++j) children[j] = load(p.children[j]);
                    set_interior(*l, std::span(keys).first(k), children);
                    become_parent(op, p, up, left, new_right);
                } else {
                    divide_interior(plan, p, false, separator, right);
                }
            }
        }
    }
    leave_hints(plan, root, e);
    return {};
}

/// Dividing the entries of n and the new one, in order: never between equal slices (M2).
namespace masstree_detail {

/// Index of the first entry of the right half. `appending`: keys are inserted in ascending order,
/// so the left half stays full.
template <class Entry>
[[nodiscard]] unsigned cut_between_slices(const Entry* all, unsigned count,
                                          bool appending) noexcept {
    const unsigned wish = appending ? count - 1 : (count + 1) / 2;
    for (unsigned distance = 0; distance < count; ++distance) {
        for (const unsigned at : {wish - distance, wish + distance}) {
            if (at >= 1 && at < count && all[at - 1].slice != all[at].slice) return at;
        }
    }
    HF_CHECK(false, "a full leaf holds a single slice");
    return 0;
}

}  // namespace masstree_detail

template <any_discipline D>
void masstree<D>::divide_leaf(operation& op, split_plan& plan, leaf& n, const entry& e,
                              u64& separator, node*& right) {
    (void)op;
    const perm p(load(n.order));
    std::array<entry, leaf::width + 1> all;
    const unsigned rank = lower_rank(n, p, e.slice, e.length_class);
    const u64 lengths = load(n.lengths);
    for (unsigned r = 0, i = 0; i <= leaf::width; ++i) {
        if (i == rank) {
            all[i] = e;
            continue;
        }
        all[i] = entry_at(n, lengths, p.slot(r++));
    }
    const bool appending = rank == leaf::width && load(n.next) == 0;
    const unsigned cut =
        masstree_detail::cut_between_slices(all.data(), leaf::width + 1, appending);
    auto* fresh = static_cast<leaf*>(plan.take());
    fill_leaf(*fresh, all.data() + cut, leaf::width + 1 - cut);
    store(fresh->low_key, all[cut].slice);
    store(fresh->next, load(n.next));
    // n is logged and marked: its slots may be rearranged.
    fill_leaf(n, all.data(), cut);
    store(n.next, offset_of(fresh));
    HF_ASSERT(load(n.low_key) < all[cut].slice, "M2: low keys ascend");
    separator = all[cut].slice;
    right = fresh;
}

/// M1: the root leaf's entries move to two new leaves, and it becomes their parent.
template <any_discipline D>
void masstree<D>::divide_root_leaf(operation& op, split_plan& plan, leaf& n, const entry& e) {
    auto* left = static_cast<leaf*>(plan.take());
    // The left leaf takes the root's place in the list; then it is divided like any other leaf.
    const perm p(load(n.order));
    std::array<entry, leaf::width> old;
    const u64 lengths = load(n.lengths);
    for (unsigned r = 0; r < leaf::width; ++r) {
        old[r] = entry_at(n, lengths, p.slot(r));
    }
    fill_leaf(*left, old.data(), leaf::width);
    u64 separator = 0;
    node* right = nullptr;
    divide_leaf(op, plan, *left, e, separator, right);
    become_parent(op, n, separator, left, right);
}

template <any_discipline D>
void masstree<D>::become_parent(operation& op, node& root, u64 separator, node* left, node* right) {
    root.version.clear_leaf();
    auto& in = static_cast<interior&>(root);
    adapter_.root_became_interior(op, in);
    in.settle_at(offset_of(&in));
    const std::array children{offset_of(left), offset_of(right)};
    set_interior(in, std::span(&separator, 1), children);
}

template <any_discipline D>
void masstree<D>::set_interior(interior& n, std::span<const u64> keys,
                               std::span<const u64> children) noexcept {
    for (std::size_t i = 0; i < keys.size(); ++i) store(n.keys[i], keys[i]);
    for (std::size_t i = 0; i <= keys.size(); ++i) store(n.children[i], children[i]);
    store(n.count, keys.size());
    HF_ASSERT(masstree_detail::is_in_order(n), "M3: an interior node's keys ascend");
}

/// Inserts `child` to the right of the child whose range contained `separator`. There is room.
template <any_discipline D>
void masstree<D>::insert_child(interior& p, u64 separator, node* child) noexcept {
    const unsigned n = p.key_count();
    const unsigned i = p.child_index(separator);
    for (unsigned k = n; k > i; --k) {
        store(p.keys[k], load(p.keys[k - 1]));
        store(p.children[k + 1], load(p.children[k]));
    }
    store(p.keys[i], separator);
    store(p.children[i + 1], offset_of(child));
    store(p.count, n + 1);
    HF_ASSERT(masstree_detail::is_in_order(p), "M3: an interior node's keys ascend");
}

/// Divides a full interior node, including (separator, child), which are inserted into it. On
/// return they are the pair to insert into the node above.
template <any_discipline D>
void masstree<D>::divide_interior(split_plan& plan, interior& p, bool is_root, u64& separator,
                                  node*& child) {
    (void)is_root;
    constexpr unsigned n = interior_width + 1;
    std::array<u64, n> keys;
    std::array<u64, n + 1> children;
    const unsigned i = p.child_index(separator);
    for (unsigned k = 0, from = 0; k < n; ++k) keys[k] = k == i ? separator : load(p.keys[from++]);
    for (unsigned k = 0, from = 0; k <= n; ++k) {
        children[k] = k == i + 1 ? offset_of(child) : load(p.children[from++]);
    }
    const unsigned middle =
        i == interior_width ? n - 2 : n / 2;  // ascending keys: keep the left half full
    auto* fresh = static_cast<interior*>(plan.take());
    set_interior(*fresh, std::span(keys).subspan(middle + 1),
                 std::span(children).subspan(middle + 1));
    set_interior(p, std::span(keys).first(middle), children);
    separator = keys[middle];
    child = fresh;
}

}  // namespace hf
