// index/common/batch.hpp: many inserts under two fences.
//
// Purpose. An insert by itself waits twice: until its record is durable, and until the word that
// publishes it is. What of many inserts must come before what else is the same for all of them, so
// they can wait together:
//
//     insert_many(index, space, entries)        pieces of up to batch_entries, each:
//         make all records                      nobody reaches any of them
//         op.settle()                  P1       all are durable: one fence
//         each in turn: lock, look, publish     a store of 8 bytes; the lock is kept
//         op.commit()                  P2       all publications are durable: one fence
//         give back all locks
//
// An index offers it as insert_piece(op, piece).
//
// What it promises. Each entry is an insert of its own: all or nothing, durable when the call
// returns, no order among them. A crash in the midst leaves any of them, whole. Of a key that comes
// twice the first value stays.
//
// Persist order, of a piece.
//  P1  every record, before the first publication of any. The words published later can become
//      durable in any order, and none leads to what is not.
//  P2  every publication, before the first lock is given back, and before the call returns. Readers
//      meet a published word under a lock that is still held, so they make it durable themselves
//      (operation::saw()): nobody acts upon what a crash may undo. What a piece itself has seen of
//      its own, a key that came twice, is durable by this fence, too.
//
// Locks. A piece keeps several, which no other writer does; so it must not wait for one while it
// has others, unless all pieces take them in one order and single writers take no second. An index
// says which of the two it does, or that it has no locks. What a piece cannot insert in this way
// (no room in the node, a lock that somebody has) is left: it is inserted by itself when the locks
// are back, or as another piece. If of a key an entry is left, so are those of the same key that
// come behind it, or they would be first.
//
// Bulk load. Of keys in order, into an index that may be empty, insert_many() is what loads it:
// a piece has neighbours then, which share nodes. Tests count its fences.
//
// Full region, or disk. errc::no_space, perhaps after some have been inserted.
//
// Source. Lee et al., "RECIPE", SOSP 2019, has no batches. The argument is that of group commit
// (DeWitt et al., SIGMOD 1984), for words.
#pragma once

#include "index/common/index.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

namespace hf {

/// Under two fences. More would keep more locks for longer, and save little.
inline constexpr std::size_t batch_entries = 32;

template <class I>
using batch_entry = std::pair<typename I::key, typename I::value>;

template <class I>
concept batching_index = eager_index<I> && requires(I& i, typename I::operation& op,
                                                    std::span<const batch_entry<I>> piece) {
    { i.insert_piece(op, piece) } -> std::same_as<result<u64>>;
};

/// How many keys were new.
template <eager_index I>
[[nodiscard]] result<u64> insert_many(I& index, eager_space& space,
                                      std::span<const batch_entry<I>> entries) {
    u64 inserted = 0;
    while (!entries.empty()) {
        if (auto ok = space.accepts_writes(); !ok) return tl::unexpected(ok.error());
        const std::size_t n = batching_index<I> ? std::min(batch_entries, entries.size()) : 1;
        typename I::operation op(space);
        if constexpr (batching_index<I>) {
            auto done = index.insert_piece(op, entries.first(n));
            if (!done) return done;
            inserted += *done;
        } else {
            auto done = index.insert(op, entries[0].first, entries[0].second);
            if (!done) return tl::unexpected(done.error());
            inserted += *done ? 1 : 0;
        }
        entries = entries.subspan(n);
    }
    return inserted;
}

/// The records of a piece, in whose index each has a word. Those that nobody publishes are given
/// back when this ends.
template <class Operation>
class batch_records {
   public:
    explicit batch_records(Operation& op) noexcept : op_(op) {}
    batch_records(const batch_records&) = delete;
    batch_records& operator=(const batch_records&) = delete;
    ~batch_records() {
        for (const u64 offset : offsets_) {
            if (offset != 0) op_.cancel(offset);
        }
    }
    /// Looks whether the index may have each entry, and where it `has_records` makes one of each.
    template <class Keys, bool has_records = true>
    [[nodiscard]] result<void> make(
        std::span<const std::pair<typename Keys::key, typename Keys::value>> piece) {
        for (std::size_t i = 0; i < piece.size(); ++i) {
            const auto& [k, v] = piece[i];
            if (auto ok = Keys::check(k, v); !ok) return ok;
            if constexpr (has_records) {
                auto made = Keys::make_record(op_, k, v);
                if (!made) return tl::unexpected(made.error());
                offsets_[i] = *made;
            }
        }
        return {};
    }
    [[nodiscard]] u64& operator[](std::size_t i) noexcept { return offsets_[i]; }

   private:
    Operation& op_;
    std::array<u64, batch_entries> offsets_{};
};

/// What becomes of an entry in its piece.
enum class placing : u8 { done, there, left };

/// What a piece has left, by the numbers of its entries.
template <class I>
class batch_rest {
   public:
    explicit batch_rest(std::span<const batch_entry<I>> piece) noexcept : piece_(piece) {}

    void leave(std::size_t i) noexcept { left_ |= u32{1} << i; }
    /// place(i) of each entry in turn, but of those whose key has been left; how many are done. The
    /// way of each is one of its own: together they may be longer than any.
    template <class Place>
    [[nodiscard]] u64 place_each(typename I::operation& op, Place&& place) {
        u64 done = 0;
        for (std::size_t i = 0; i < piece_.size(); ++i) {
            op.arrived();
            const placing p = has_left(piece_[i].first) ? placing::left : place(i);
            if (p == placing::left) leave(i);
            done += p == placing::done ? 1 : 0;
        }
        return done;
    }
    /// One by one, with no lock held. How many keys were new, those `inserted` before included.
    [[nodiscard]] result<u64> insert_each(I& index, typename I::operation& op, u64 inserted) {
        for (; left_ != 0; left_ &= left_ - 1) {
            const auto& [k, v] = piece_[first()];
            op.arrived();
            auto done = index.insert(op, k, v);
            if (!done) return tl::unexpected(done.error());
            inserted += *done ? 1 : 0;
        }
        return inserted;
    }
    /// The same where one of them makes room for others: so they are a piece again behind the
    /// first, unless nothing of this one was inserted.
    [[nodiscard]] result<u64> insert(I& index, typename I::operation& op, u64 inserted) {
        if (inserted == 0 || std::popcount(left_) <= 2) return insert_each(index, op, inserted);
        op.arrived();
        auto done = index.insert(op, piece_[first()].first, piece_[first()].second);
        if (!done) return tl::unexpected(done.error());
        std::array<batch_entry<I>, batch_entries> others;
        std::size_t count = 0;
        for (left_ &= left_ - 1; left_ != 0; left_ &= left_ - 1) others[count++] = piece_[first()];
        auto more = index.insert_piece(op, std::span(others).first(count));
        if (!more) return more;
        return inserted + (*done ? 1 : 0) + *more;
    }

   private:
    [[nodiscard]] std::size_t first() const noexcept {
        return static_cast<std::size_t>(std::countr_zero(left_));
    }
    [[nodiscard]] bool has_left(const typename I::key& k) const noexcept {
        for (u32 rest = left_; rest != 0; rest &= rest - 1) {
            if (piece_[static_cast<std::size_t>(std::countr_zero(rest))].first == k) return true;
        }
        return false;
    }

    std::span<const batch_entry<I>> piece_;
    u32 left_ = 0;
    static_assert(batch_entries <= 32);
};

}  // namespace hf
