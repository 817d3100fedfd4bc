// eager_masstree/batch.hpp: part of eager_masstree.hpp: many inserts under two fences
// (index/common/batch.hpp).
//
// A piece locks the leaves that are free and have room, without waiting. In all of them it fills
// pairs that no order word refers to yet; then records and pairs are made durable together (P1),
// and then the order words (P2), one for each leaf. Entries that cannot be inserted this way (a
// full leaf, a held or stale lock, a new layer) are left over: the first one is inserted by itself,
// which may make room, and the rest is another piece.
#pragma once

#include "index/common/batch.hpp"
#include "index/eager_masstree/eager_masstree.hpp"

#include <algorithm>

namespace hf {

/// The locked leaves of a piece, with the order words that they will get.
template <class D, class Keys>
class eager_masstree<D, Keys>::piece_leaves {
   public:
    struct held {
        node* n;
        u64 order;
    };

    explicit piece_leaves(operation& op) noexcept : op_(op) {}
    piece_leaves(const piece_leaves&) = delete;
    piece_leaves& operator=(const piece_leaves&) = delete;
    ~piece_leaves() {
        for (std::size_t i = 0; i < count_; ++i) leaves_[i].n->lock.unlock();
    }
    /// nullptr: another thread holds the lock, it is stale, or too many leaves are held.
    [[nodiscard]] held* take(node& n) noexcept {
        const auto end = leaves_.begin() + static_cast<std::ptrdiff_t>(count_);
        const auto mine =
            std::find_if(leaves_.begin(), end, [&](const held& h) { return h.n == &n; });
        if (mine != end) return &*mine;
        // A free lock cannot become stale: only locks of earlier sessions are.
        if (count_ == leaves_.size() || node_lock::may_be_volatile(n.lock.load()) ||
            n.lock.try_lock(op_.generation()) != node_lock::attempt::taken) {
            return nullptr;
        }
        leaves_[count_] = {&n, n.used().word()};
        return &leaves_[count_++];
    }
    /// Unlocks the leaf taken last, in which the key continues in a layer, unless it has new
    /// entries.
    void give_back(const held& h) noexcept {
        if (&h != &leaves_[count_ - 1] || h.order != h.n->order.load()) return;
        h.n->lock.unlock();
        --count_;
    }
    void publish() noexcept {
        for (std::size_t i = 0; i < count_; ++i) {
            const held& h = leaves_[i];
            if (h.order != h.n->order.load()) op_.publish(h.n->order, h.order);
        }
    }

   private:
    operation& op_;
    std::size_t count_ = 0;
    std::array<held, batch_entries> leaves_;  // filled up to count_
};

/// Stores the entry into an unused pair; publish() makes it visible.
template <class D, class Keys>
auto eager_masstree<D, Keys>::place_in_piece(operation& op, piece_leaves& leaves, key k, u64 made)
    -> placing {
    using namespace eager_masstree_detail;
    cursor c(k);
    const root_block* root = root_;
    for (;;) {
        node& n = *descend(op, *root, c.slice(), 0).n;
        const auto held = leaves.take(n);
        if (held == nullptr || n.is_gone() || c.slice() > n.last.load()) return placing::left;
        const order_word o(held->order);
        const auto place = n.template find<has_layers>(o, c.slice(), c.length_class());
        if (place.is_there) {
            const u64 word = n.pair_at(o, place.rank).word.load();
            if constexpr (has_layers) {
                if (entry_word::is_layer(word)) {
                    leaves.give_back(*held);
                    root = at<root_block>(entry_word::offset_of(word));
                    check_goes_on(op, c, root);
                    c.descend();
                    continue;
                }
            }
            return is_of_another(c, word) ? placing::left : placing::there;
        }
        if (o.size() >= width) return placing::left;
        const unsigned slot = node::free_slot(o);
        if (slot >= width) return placing::left;  // damage, which the single insert will report
        auto& p = n.pairs[slot];
        p.key.fill(c.slice());
        if constexpr (has_layers) {
            p.word.fill(entry_word::of(c.length_class(), false, made));
        } else {
            p.word.fill(made);
        }
        if (!same_line(&p, &n)) op.written_line(&p);
        held->order = o.inserted(place.rank, slot).word();
        return placing::done;
    }
}

template <class D, class Keys>
result<u64> eager_masstree<D, Keys>::insert_piece(operation& op,
                                                  std::span<const piece_entry> piece) {
    u64 inserted = 0;
    batch_rest<eager_masstree> rest(piece);
    {
        batch_records<operation> records(op);
        if (auto ok = records.template make<Keys, has_layers>(piece); !ok) {
            return tl::unexpected(ok.error());
        }
        piece_leaves leaves(op);
        inserted = rest.place_each(op, [&](std::size_t i) {
            u64 word = 0;
            if constexpr (has_layers) {
                word = records[i];
            } else {
                word = piece[i].second;
            }
            const placing p = place_in_piece(op, leaves, piece[i].first, word);
            if (p == placing::done) records[i] = 0;
            return p;
        });
        op.persist_unpublished();  // P1 for all leaves
        leaves.publish();
        op.persist_publication();  // P2 for all leaves, before they are unlocked
    }
    return rest.insert(*this, op, inserted);
}

}  // namespace hf
