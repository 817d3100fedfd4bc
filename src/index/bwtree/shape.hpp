// bwtree/shape.hpp: part of bwtree.hpp: consolidation, splits, merges, and their completion by
// others.
//
//   split     leaf:   two halves and a cell < the leaf's word < (parent locked) the separator
//             inner:  the same, with the node's own cell locked
//             root:   both halves get new cells, and the root's word points to a node above them
//   merge     (parent locked)  right leaf frozen < parent without it < left leaf with all entries
//
// A writer that reaches a leaf by its neighbour's link adopts it: under the parent's lock it thaws
// the leaf and inserts its separator. So does a writer that finds a frozen leaf. If the merging
// thread is alive, it holds the parent's lock until it has finished; if its process died, the
// adoption undoes the merge.
#pragma once

#include "index/bwtree/bwtree.hpp"

namespace hf {

/// Publishes one word: P1, compare-and-swap, P2, marks it as durable. False: another thread was
/// faster.
template <class D, class Keys>
bool bwtree<D, Keys>::publish(operation& op, cell& c, u64 seen, u64 offset) {
    op.persist_unpublished();
    const bool is_ours = c.replace(seen, offset);
    op.written_line(&c);  // also if the CAS failed: the retry depends on the other thread's word
    if (!is_ours) return false;
    op.persist_publication();
    c.set_durable(cell::with_offset(seen, offset));
    return true;
}

/// publish() of a chain that consists of a node without deltas.
template <class D, class Keys>
bool bwtree<D, Keys>::publish_node(operation& op, cell& c, u64 seen, u64 offset) {
    if (!publish(op, c, seen, offset)) return false;
    c.hint(offset, 0);
    return true;
}

/// Retires a chain that was unlinked durably, and the records that its successor does not contain.
template <class D, class Keys>
void bwtree<D, Keys>::retire_chain(operation& op, block* head, std::span<const u64> dropped) const {
    using namespace bwtree_detail;
    for (block* b = head;;) {
        const bool is_delta = b->kind() == what::delta;
        block* next = is_delta ? at<block>(static_cast<delta*>(b)->next()) : nullptr;
        op.retire(*this, offset_of(b), trace_block);
        if (!is_delta) break;
        b = next;
    }
    for (const u64 offset : dropped) op.retire(*this, offset, leaf);
}

/// Replaces the chain by a new node with its entries and one more change.
template <class D, class Keys>
auto bwtree<D, Keys>::consolidate(operation& op, const place& p, const entry& e, bool gone)
    -> result<step> {
    gathered g;
    g.changed[g.changes++] = {e, gone, false};
    gather(op, p.head, p.base, g);
    if (g.count > bwtree_detail::most_entries) return split(op, p, g);
    fresh_blocks made(op);
    auto fresh = make_leaf(made, g, 0, g.count, low_of(p.base), high_of(p.base), p.base->next);
    if (!fresh) return tl::unexpected(fresh.error());
    if (!publish_node(op, *p.at, p.word, *fresh)) return step::again;
    made.are_published();
    retire_chain(op, p.head, g.drop_list());
    return step::done;
}

/// Splits a leaf that is too full: its upper half moves to a new node with a new cell.
template <class D, class Keys>
auto bwtree<D, Keys>::split(operation& op, const place& p, const gathered& g) -> result<step> {
    fresh_blocks made(op);
    const auto parts = make_halves(made, p, g, g.count / 2);
    if (!parts) return tl::unexpected(parts.error());
    op.persist_unpublished();
    HF_PERSIST_POINT("bwtree B1: both halves are durable before the word that leads to them");
    if (!publish_node(op, *p.at, p.word, parts->word)) return step::again;
    HF_PERSIST_POINT("bwtree B2: a split is durable before its separator");
    made.are_published();
    retire_chain(op, p.head, g.drop_list());
    if (p.at == root_) return step::done;
    try {
        adopt(op, at<cell>(parts->right), parts->apart, 0);
    } catch (const damage&) {  // NOLINT(bugprone-empty-catch): the entry is there, found by links
    }
    return step::done;
}

/// Makes the two halves of a split, unreachable. The lower one gets `half` entries.
template <class D, class Keys>
auto bwtree<D, Keys>::make_halves(fresh_blocks& made, const place& p, const gathered& g,
                                  u32 half) const -> result<halves> {
    const limit low = low_of(p.base);
    const limit high = high_of(p.base);
    const bound apart =
        bound::of(order::between(whole_key_of(g.entries[half - 1]), whole_key_of(g.entries[half])));
    auto upper = make_leaf(made, g, half, g.count, apart, high, p.base->next);
    if (!upper) return tl::unexpected(upper.error());
    auto right = make_cell(made, *upper);
    if (!right) return tl::unexpected(right.error());
    auto lower = make_leaf(made, g, 0, half, low, apart, *right);
    if (!lower) return tl::unexpected(lower.error());
    if (p.at != root_) return halves{*lower, *right, apart};
    auto left = make_cell(made, *lower);
    if (!left) return tl::unexpected(left.error());
    separators s;
    s.first = *left;
    s.add(apart, *right);
    auto above = make_inner(made, s, 0, 1, std::nullopt, std::nullopt, 0, 1);
    if (!above) return tl::unexpected(above.error());
    return halves{*above, *right, apart};
}

/// Holds a cell's lock; the destructor releases it, also when damage is thrown.
template <class D, class Keys>
class bwtree<D, Keys>::held_cell {
   public:
    held_cell() noexcept = default;
    held_cell(const held_cell&) = delete;
    held_cell& operator=(const held_cell&) = delete;
    ~held_cell() { unlock(); }
    void lock(cell& c, u32 generation) {
        c.lock.lock(generation);
        cell_ = &c;
    }
    void unlock() noexcept {
        if (cell_ != nullptr) std::exchange(cell_, nullptr)->lock.unlock();
    }

   private:
    cell* cell_ = nullptr;
};

/// Finds the inner node of `level` whose range contains the key, and locks its cell. nullopt: the
/// tree has no such level.
template <class D, class Keys>
auto bwtree<D, Keys>::lock_at(operation& op, held_cell& held, const bound& k, u32 level) const
    -> std::optional<place> {
    for (;;) {
        place p = find(op, k, level);
        if (p.at == nullptr) return std::nullopt;
        held.lock(*p.at, op.generation());
        const u64 now = load_word(op, *p.at);
        if (now == p.word) return p;
        held.unlock();
        op.arrived();  // the node has changed: begin a new traversal
    }
}

/// Undoes a merge that its thread did not finish. The caller holds the parent's lock.
template <class D, class Keys>
void bwtree<D, Keys>::thaw(operation& op, cell& c) const {
    for (u64 word = load_word(op, c); (word & cell::frozen) != 0; word = load_word(op, c)) {
        op.persist_unpublished();
        if (!c.thaw(word)) continue;
        op.written_line(&c);
        op.persist_publication();
        c.set_durable(word & ~cell::frozen);
    }
}

/// Inserts the separator of a node that its parent may lack; thaws the node if it is frozen. Does
/// nothing if the node is no longer linked.
template <class D, class Keys>
void bwtree<D, Keys>::adopt(operation& op, cell* c, const bound& low, u32 level) {
    held_cell held;
    const auto parent = lock_at(op, held, low, level + 1);
    if (!parent) return;
    const place left = find<true>(op, low, level);
    if (left.at != nullptr && left.base->next == offset_of(c)) {
        thaw(op, *c);
        cell* named = child_for<false>(parent->base, low);
        if (named != c) name_child(op, *parent, held, low, offset_of(c));
    }
}

/// Inserts a separator into a locked inner node, which is split if it is full. Does nothing without
/// memory: the child stays reachable by its neighbour's link.
template <class D, class Keys>
void bwtree<D, Keys>::name_child(operation& op, const place& parent, held_cell& held,
                                 const bound& low, u64 child) {
    using namespace bwtree_detail;
    node* n = parent.base;
    if (n->level() == highest_level) op.fail(n, "no node is so high");
    separators s;
    s.load(op, n);
    s.add(low, child);
    fresh_blocks made(op);
    const bool fits = s.count <= most_entries;
    const u32 half = s.count / 2;
    const bound apart = s.all[half].low;
    u64 word = 0;
    u64 right = 0;
    const auto build = [&]() -> result<void> {
        if (fits) {
            auto all = make_inner(made, s, 0, s.count, low_of(n), high_of(n), n->next, n->level());
            if (!all) return tl::unexpected(all.error());
            word = *all;
            return {};
        }
        auto upper = make_inner(made, s, half + 1, s.count, apart, high_of(n), n->next, n->level());
        if (!upper) return tl::unexpected(upper.error());
        auto fresh = make_cell(made, *upper);
        if (!fresh) return tl::unexpected(fresh.error());
        right = *fresh;
        auto lower = make_inner(made, s, 0, half, low_of(n), apart, right, n->level());
        if (!lower) return tl::unexpected(lower.error());
        word = *lower;
        if (parent.at != root_) return {};
        auto left = make_cell(made, *lower);
        if (!left) return tl::unexpected(left.error());
        separators two;
        two.first = *left;
        two.add(apart, right);
        auto above = make_inner(made, two, 0, 1, std::nullopt, std::nullopt, 0, n->level() + 1);
        if (!above) return tl::unexpected(above.error());
        word = *above;
        return {};
    };
    const bool is_done = build() && publish_node(op, *parent.at, parent.word, word);
    held.unlock();
    if (!is_done) return;
    made.are_published();
    op.retire(*this, offset_of(n), trace_block);
    if (!fits && parent.at != root_) adopt(op, at<cell>(right), apart, n->level());
}

/// B3. Sets `word` to the frozen word; false: another thread has changed it.
template <class D, class Keys>
bool bwtree<D, Keys>::freeze(operation& op, cell& c, u64& word) const {
    if ((word & (cell::frozen | cell::hold)) != 0) return false;
    op.persist_unpublished();
    if (!c.freeze(word)) return false;
    op.written_line(&c);
    op.persist_publication();
    HF_PERSIST_POINT("bwtree B3: a leaf is frozen before its separator goes");
    c.set_durable(word | cell::frozen);
    word |= cell::frozen;
    return true;
}

/// Merges the leaf at `c`, which is nearly empty, with a neighbour, if both fit into one.
template <class D, class Keys>
void bwtree<D, Keys>::merge(operation& op, cell* c, const bound& k) {
    using namespace bwtree_detail;
    held_cell held;
    const auto parent = lock_at(op, held, k, 1);
    if (!parent) return;
    separators s;
    s.load(op, parent->base);
    const u64 self = offset_of(c);
    u32 i = s.place_of(k);  // child i - 1 contains k; with i = 0, the first child does
    if (s.count == 0 || (i == 0 ? s.first : s.all[i - 1].child) != self) return;
    if (i == 0) i = 1;  // the first child merges with its right neighbour
    cell* right = at<cell>(s.all[i - 1].child);
    const place left = find<true>(op, s.all[i - 1].low, 0);
    u64 word = load_word(op, *right);
    block* head = at<block>(cell::offset_of(word));
    const auto live = [&](block* b) {
        return b->kind() == what::delta ? static_cast<delta*>(b)->live() : base_of(b)->count();
    };
    if (left.base->next != offset_of(right) || live(left.head) + live(head) > most_entries / 2) {
        return;
    }
    fresh_blocks made(op);
    node* n = parent->base;
    s.remove(i - 1);
    auto without = make_inner(made, s, 0, s.count, low_of(n), high_of(n), n->next, n->level());
    if (!without || !freeze(op, *right, word)) return;
    if (!publish_node(op, *parent->at, parent->word, *without)) {
        thaw(op, *right);
        return;
    }
    HF_PERSIST_POINT("bwtree B4: a frozen leaf has no separator before its neighbour takes it");
    made.are_published();
    op.retire(*this, offset_of(n), trace_block);
    if (!absorb(op, left.at, *right, word)) thaw(op, *right);
}

/// Adds all entries of a frozen leaf to its left neighbour. False: no memory, or no room.
template <class D, class Keys>
bool bwtree<D, Keys>::absorb(operation& op, cell* left, cell& right, u64 right_word) {
    using namespace bwtree_detail;
    block* taken = at<block>(cell::offset_of(right_word));
    node* last = base_of(taken);
    for (;;) {
        op.took_step();
        place p;
        p.at = left;
        p.word = load_word(op, *left);
        p.head = at<block>(cell::offset_of(p.word));
        p.base = base_of(p.head);
        if (p.base->next != offset_of(&right)) {
            if (p.base->next == 0) op.fail(p.base, "a leaf's right neighbour is not its own");
            left = at<cell>(p.base->next);  // the left leaf was split meanwhile
            continue;
        }
        if ((p.word & cell::frozen) != 0) thaw(op, *left);
        if ((p.word & cell::hold) != 0) await_hold(op, p);
        if ((p.word & (cell::frozen | cell::hold)) != 0) continue;
        gathered g;
        gather(op, p.head, p.base, g);
        gathered more;
        gather(op, taken, last, more);
        if (g.count + more.count > most_entries) return false;
        std::copy_n(more.entries.begin(), more.count, &g.entries[g.count]);
        g.count += more.count;
        fresh_blocks made(op);
        auto fresh = make_leaf(made, g, 0, g.count, low_of(p.base), high_of(last), last->next);
        if (!fresh) return false;
        if (!publish_node(op, *left, p.word, *fresh)) continue;
        HF_PERSIST_POINT("bwtree B5: a leaf has been taken before it is retired");
        made.are_published();
        retire_chain(op, p.head, g.drop_list());
        retire_chain(op, taken, more.drop_list());
        op.retire(*this, offset_of(&right), trace_cell);
        return true;
    }
}

}  // namespace hf
