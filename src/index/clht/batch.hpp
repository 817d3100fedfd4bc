// clht/batch.hpp: part of clht.hpp: many inserts under two fences (index/common/batch.hpp).
//
// Lock order: a piece takes all of its locks before its first search, in ascending order of their
// numbers; a single writer holds one at a time. So there is no deadlock. After a kill, until the
// sweep has ended, entries are inserted one by one.
#pragma once

#include "index/clht/clht.hpp"
#include "index/common/batch.hpp"

namespace hf {

/// The locks of a piece, each once, in ascending order.
template <class D, class Keys, class Shape>
class clht<D, Keys, Shape>::piece_locks {
   public:
    explicit piece_locks(const clht& of) noexcept : of_(of) {}
    piece_locks(const piece_locks&) = delete;
    piece_locks& operator=(const piece_locks&) = delete;
    ~piece_locks() {
        for (std::size_t i = 0; i < held_; ++i) of_.locks_[numbers_[i]].lock.unlock();
    }
    void need(u64 hash) noexcept { numbers_[count_++] = stripe_of(hash); }
    void take() noexcept {
        std::sort(numbers_.begin(), numbers_.begin() + count_);
        count_ = std::unique(numbers_.begin(), numbers_.begin() + count_) - numbers_.begin();
        while (held_ < static_cast<std::size_t>(count_)) of_.locks_[numbers_[held_++]].lock.lock();
    }

   private:
    const clht& of_;
    std::ptrdiff_t count_ = 0;
    std::size_t held_ = 0;
    std::array<u64, batch_entries> numbers_{};
};

template <class D, class Keys, class Shape>
result<void> clht<D, Keys, Shape>::make_records(operation& op, std::span<const piece_entry> piece,
                                                batch_records<operation>& records) {
    for (std::size_t i = 0; i < piece.size(); ++i) {
        const auto& [k, v] = piece[i];
        if (auto ok = Keys::check(k, v); !ok) return ok;
        __builtin_prefetch(home_of(Keys::hash(k)).first, 1);
        if constexpr (!Keys::inline_values) {
            auto made = Keys::make_record(op, k, v);
            if (!made) return tl::unexpected(made.error());
            records[i] = *made;
        }
    }
    op.persist_unpublished();  // P1 for all records
    return {};
}

/// Inserts the entry under its lock. The caller makes it durable (P2).
template <class D, class Keys, class Shape>
auto clht<D, Keys, Shape>::place_in_piece(operation& op, const piece_entry& e, u64& record)
    -> placing {
    if (op.is_after_a_kill()) [[unlikely]] {
        return placing::left;  // insert() makes the data it depends on durable, entry by entry
    }
    const home h = home_of(Keys::hash(e.first));
    const found_slots s = search(op, h, e.first);
    if (s.of_key) return placing::there;
    if (!s.free) return placing::left;
    if constexpr (Keys::inline_values) {
        fill(op, h.first, s.free, h.hash, e.second);
    } else {
        fill(op, h.first, s.free, h.hash, std::exchange(record, 0));
    }
    return placing::done;
}

template <class D, class Keys, class Shape>
result<u64> clht<D, Keys, Shape>::insert_piece(operation& op, std::span<const piece_entry> piece) {
    u64 inserted = 0;
    batch_rest<clht> rest(piece);
    {
        batch_records<operation> records(op);
        if (auto made = make_records(op, piece, records); !made) {
            return tl::unexpected(made.error());
        }
        piece_locks locks(*this);
        for (const piece_entry& e : piece) locks.need(Keys::hash(e.first));
        locks.take();
        try {
            inserted = rest.place_each(
                op, [&](std::size_t i) { return place_in_piece(op, piece[i], records[i]); });
        } catch (const damage&) {
            op.persist_publication();  // for the entries published so far
            throw;
        }
        op.persist_publication();  // P2 for all, before the locks are released
    }
    return rest.insert_each(*this, op, inserted);
}

}  // namespace hf
