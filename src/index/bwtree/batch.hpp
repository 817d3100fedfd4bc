// bwtree/batch.hpp: part of bwtree.hpp: many inserts under two fences (index/common/batch.hpp).
//
// A piece takes no locks. It looks up the leaf of each entry. For each leaf it makes either deltas
// to prepend to the chain, or a replacement: a new node, or the two halves of a split. All of that
// is made durable by one fence (P1). Then each leaf's word is replaced by a compare-and-swap, and
// one fence makes all words durable (P2); then they are marked as durable. Until that, a word
// differs from the `durable` word beside it, so a thread that reads it makes it durable first (B6).
// Entries of a leaf that has changed meanwhile, that is frozen or held, or that was reached by a
// link are left over and inserted one by one.
//
//     each entry:  find its leaf                   nothing is changed
//     each leaf:   make its deltas or its nodes    unreachable
//     P1           B1 for all leaves
//     each leaf:   compare and swap
//     P2           B2 for all leaves
//     each split:  insert its separator            as after any split
#pragma once

#include "index/bwtree/bwtree.hpp"

namespace hf {

/// The changes that a piece makes to one leaf.
template <class D, class Keys>
struct bwtree<D, Keys>::piece_leaf {
    piece_leaf(operation& op, const place& where) noexcept : p(where), made(op) {}

    place p;
    fresh_blocks made;
    u64 word = 0;           ///< the new offset for the leaf's cell; 0: no change
    u64 behind = 0;         ///< the second block of the new chain, for the cell's hint
    bool replaces = false;  ///< replaces the whole chain
    bool shares = false;    ///< the new first delta contains the entries of the old first delta
    bool is_published = false;
    halves parts;              ///< the halves, if the leaf is split
    std::vector<u64> dropped;  ///< records of the old chain that the new one does not contain
    u32 count = 0;
    std::array<u8, batch_entries> of;  ///< indexes of the piece's entries, in key order
};

template <class D, class Keys>
class bwtree<D, Keys>::piece_leaves {
   public:
    [[nodiscard]] piece_leaf* find(const cell* c) noexcept {
        for (u32 i = 0; i < count_; ++i) {
            if (all_[i]->p.at == c) return &*all_[i];
        }
        return nullptr;
    }
    piece_leaf& add(operation& op, const place& p) noexcept {
        return all_[count_++].emplace(op, p);
    }
    template <class Visit>
    void each(Visit&& visit) {
        for (u32 i = 0; i < count_; ++i) visit(*all_[i]);
    }

   private:
    u32 count_ = 0;
    std::array<std::optional<piece_leaf>, batch_entries> all_;
};

/// Assigns entry number i of the piece to its leaf, at its rank in key order.
template <class D, class Keys>
auto bwtree<D, Keys>::place_in_piece(operation& op, piece_leaves& leaves,
                                     std::span<const piece_entry> piece, u32 i) const -> placing {
    const bound k = bound::of(piece[i].first);
    const place p = find(op, k, 0);
    if ((p.word & (cell::frozen | cell::hold)) != 0 || p.sideways) return placing::left;
    piece_leaf* l = leaves.find(p.at);
    if (l != nullptr && l->p.word != p.word) return placing::left;
    if (search(op, p, k).is_there) return placing::there;
    u32 rank = 0;
    if (l != nullptr) {
        rank = l->count;
        int order_of = 1;
        while (rank > 0 && (order_of = compare(bound::of(piece[l->of[rank - 1]].first), k)) > 0) {
            --rank;
        }
        if (rank > 0 && order_of == 0) return placing::there;
    }
    // A split makes exactly two nodes, so more entries cannot be placed.
    const u32 have = live_in(p) + (l == nullptr ? 0 : l->count);
    if (have >= 2 * bwtree_detail::most_entries) return placing::left;
    if (l == nullptr) l = &leaves.add(op, p);
    std::copy_backward(&l->of[rank], &l->of[l->count], &l->of[l->count] + 1);
    l->of[rank] = static_cast<u8>(i);
    ++l->count;
    return placing::done;
}

/// Makes the deltas or nodes for one leaf. They stay unreachable.
template <class D, class Keys>
result<void> bwtree<D, Keys>::make_for(operation& op, piece_leaf& l,
                                       std::span<const entry> entries) const {
    using namespace bwtree_detail;
    const auto* d = static_cast<const delta*>(l.p.head);
    const bool is_delta = l.p.head->kind() == what::delta;
    const u32 deltas = is_delta ? d->depth() : 0;
    u32 room = is_delta ? delta_entries - d->count() : 0;
    if (deltas < longest_chain) room += delta_entries * (longest_chain - deltas);
    if (entries.size() <= room) return make_deltas(op, l, entries);
    gathered g;
    for (const entry& e : entries) g.changed[g.changes++] = {e, false, false};
    gather(op, l.p.head, l.p.base, g);
    l.replaces = true;
    l.dropped.assign(g.dropped.begin(), g.dropped.begin() + g.drops);
    if (g.count > most_entries) {
        // Ascending inserts at the right end of the tree: fill the left half completely.
        const entry& first = g.entries[g.count - entries.size()];
        const bool at_end =
            !l.p.base->has_high() && first.head == entries[0].head && first.word == entries[0].word;
        auto parts = make_halves(l.made, l.p, g, at_end ? most_entries : g.count / 2);
        if (!parts) return tl::unexpected(parts.error());
        l.parts = *parts;
        l.word = parts->word;
        return {};
    }
    auto fresh =
        make_leaf(l.made, g, 0, g.count, low_of(l.p.base), high_of(l.p.base), l.p.base->next);
    if (!fresh) return tl::unexpected(fresh.error());
    l.word = *fresh;
    return {};
}

template <class D, class Keys>
result<void> bwtree<D, Keys>::make_deltas(operation& op, piece_leaf& l,
                                          std::span<const entry> entries) const {
    place before = l.p;
    u32 live = live_in(l.p);
    l.shares = has_room(l.p.head);
    if (!l.shares) op.shade(*this, offset_of(l.p.head), bwtree_detail::trace_block);
    while (!entries.empty()) {
        const u32 room = bwtree_detail::delta_entries -
                         (has_room(before.head) ? static_cast<delta*>(before.head)->count() : 0);
        const auto some = entries.first(std::min<std::size_t>(room, entries.size()));
        live += static_cast<u32>(some.size());
        auto made = make_delta(l.made, before, some, false, live);
        if (!made) return tl::unexpected(made.error());
        before.head = *made;
        entries = entries.subspan(some.size());
    }
    l.word = offset_of(before.head);
    l.behind = static_cast<delta*>(before.head)->next();
    return {};
}

/// After P2: marks the published word as durable and retires what it has replaced.
template <class D, class Keys>
void bwtree<D, Keys>::end_for(operation& op, piece_leaf& l) {
    using namespace bwtree_detail;
    l.p.at->set_durable(cell::with_offset(l.p.word, l.word));
    l.p.at->hint(l.replaces ? l.word : offset_of(l.p.base), l.behind);
    if (l.shares) op.retire(*this, offset_of(l.p.head), trace_block);
    if (l.replaces) retire_chain(op, l.p.head, l.dropped);
}

template <class D, class Keys>
u64 bwtree<D, Keys>::publish_piece(operation& op, piece_leaves& leaves) {
    u64 inserted = 0;
    op.persist_unpublished();  // P1 for all leaves
    leaves.each([&](piece_leaf& l) {
        if (l.word == 0) return;
        l.is_published = l.p.at->replace(l.p.word, l.word);
        op.written_line(l.p.at);
        if (!l.is_published) return;
        inserted += l.count;
        l.made.are_published();
    });
    op.persist_publication();  // P2 for all leaves
    leaves.each([&](piece_leaf& l) {
        if (l.is_published) end_for(op, l);
    });
    return inserted;
}

template <class D, class Keys>
result<u64> bwtree<D, Keys>::insert_piece(operation& op, std::span<const piece_entry> piece) {
    u64 inserted = 0;
    batch_rest<bwtree> rest(piece);
    {
        batch_records<operation> records(op);
        if (auto ok = records.template make<Keys, !order::exact>(piece); !ok) {
            return tl::unexpected(ok.error());
        }
        std::array<entry, batch_entries> entries;
        for (std::size_t i = 0; i < piece.size(); ++i) {
            const auto& [k, v] = piece[i];
            if constexpr (order::exact) {
                entries[i] = {k, v};
            } else {
                entries[i] = {order::head(k), records[i]};
            }
        }
        piece_leaves leaves;
        std::ignore = rest.place_each(op, [&](std::size_t i) {
            return place_in_piece(op, leaves, piece, static_cast<u32>(i));
        });
        leaves.each([&](piece_leaf& l) {
            std::array<entry, batch_entries> mine;
            for (u32 i = 0; i < l.count; ++i) mine[i] = entries[l.of[i]];
            // Out of memory: its entries are inserted one by one, and report the error.
            if (!make_for(op, l, std::span(mine).first(l.count))) l.word = 0;
        });
        inserted = publish_piece(op, leaves);
        leaves.each([&](piece_leaf& l) {
            for (u32 i = 0; i < l.count; ++i) {
                if (l.is_published) {
                    records[l.of[i]] = 0;
                } else {
                    rest.leave(l.of[i]);
                }
            }
        });
        // After the loops above: adopt() may throw damage, and the published records must not be
        // freed then.
        leaves.each([&](piece_leaf& l) {
            if (l.is_published && l.parts.right != 0 && l.p.at != root_) {
                HF_PERSIST_POINT("bwtree B2: a split is durable before its separator");
                adopt(op, at<cell>(l.parts.right), l.parts.apart, 0);
            }
        });
    }
    return rest.insert(*this, op, inserted);
}

}  // namespace hf
