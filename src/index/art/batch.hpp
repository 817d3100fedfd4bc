// art/batch.hpp: part of art.hpp: many inserts under two fences (index/common/batch.hpp).
//
// A piece inserts only into free slots of existing nodes, which covers most inserts. Once it holds
// a lock it waits for no other: an entry whose node another thread has locked is left over, as is
// one that changes a node's shape. Its P1 precedes its descents, so possibly volatile links on its
// paths become durable together with its words (P2). This suffices: a word in a node that a crash
// makes unreachable is an insert that did not happen, and no call has returned it.
#pragma once

#include "index/art/art.hpp"
#include "index/common/batch.hpp"

namespace hf {

/// The nodes that a piece has locked.
template <class D, class Keys>
class art<D, Keys>::piece_locks {
   public:
    explicit piece_locks(operation& op) noexcept : op_(op) {}
    piece_locks(const piece_locks&) = delete;
    piece_locks& operator=(const piece_locks&) = delete;
    ~piece_locks() {
        for (std::size_t i = 0; i < count_; ++i) held_[i]->lock.unlock();
    }
    /// False: another thread holds it, or it is obsolete.
    [[nodiscard]] bool take(node* n, what kind) noexcept(!crashes_throw) {
        const auto end = held_.begin() + static_cast<std::ptrdiff_t>(count_);
        if (std::find(held_.begin(), end, n) != end) return true;
        if (!try_lock(op_, n, kind)) return false;
        held_[count_++] = n;
        return true;
    }

   private:
    operation& op_;
    std::size_t count_ = 0;
    std::array<node*, batch_entries> held_{};
};

/// lock() without waiting.
template <class D, class Keys>
bool art<D, Keys>::try_lock(operation& op, node* n, what kind) noexcept(!crashes_throw) {
    const auto taken = n->lock.try_lock(op.generation());
    if (taken == node_lock::attempt::failed) return false;
    if (taken == node_lock::attempt::taken_over) take_over(op, n, kind);
    return is_usable(op, n, kind);
}

/// Inserts the entry under its node's lock. The caller makes it durable (P2).
template <class D, class Keys>
auto art<D, Keys>::place_in_piece(operation& op, piece_locks& locks, key k, u64& made) -> placing {
    place p;
    walk(op, k, no_stop, false, p);
    if (p.how == end_of_way::equal) return placing::there;
    if (p.how != end_of_way::absent || (p.skipped && apart_at(p, k) < p.seen.level) ||
        !locks.take(p.at, p.kind) ||
        find_for(p.at, p.kind, k, p.seen.level, true).word != p.slot.word) {
        return placing::left;
    }
    const bool ends = path::can_end && path::length(k) == p.seen.level;
    const u8 byte = ends ? u8{0} : path::at(k, p.seen.level);
    published* slot =
        ends ? p.slot.at
             : art_detail::visit_node(p.at, p.kind, [&](auto& x) { return x.free_slot(byte); });
    if (slot == nullptr) return placing::left;
    if (!ends) art_detail::visit_node(p.at, p.kind, [&](auto& x) { x.note_added(slot, byte); });
    op.publish(*slot, art_detail::slot_word::of(byte, what::record, std::exchange(made, 0)));
    return placing::done;
}

template <class D, class Keys>
result<u64> art<D, Keys>::insert_piece(operation& op, std::span<const piece_entry> piece) {
    u64 inserted = 0;
    batch_rest<art> rest(piece);
    {
        batch_records<operation> records(op);
        if (auto ok = records.template make<Keys>(piece); !ok) return tl::unexpected(ok.error());
        op.persist_unpublished();  // P1 for all records
        piece_locks locks(op);
        try {
            inserted = rest.place_each(op, [&](std::size_t i) {
                return place_in_piece(op, locks, piece[i].first, records[i]);
            });
        } catch (const damage&) {
            op.persist_publication();  // for the entries published so far
            throw;
        }
        op.persist_publication();  // P2 for all words, before the locks are released
    }
    return rest.insert(*this, op, inserted);
}

}  // namespace hf
