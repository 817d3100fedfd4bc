// index/common/batch.hpp: many inserts under two fences.
//
// Purpose. A single insert waits twice: until its record is durable, and until the word that
// publishes it is. Many inserts can share both waits:
//
//     insert_many(index, space, entries)        pieces of up to batch_entries, each:
//         make all records                      unreachable
//         op.persist_unpublished()    P1       all records are durable: one fence
//         for each: lock, search, publish       one 8-byte store; the lock is kept
//         op.persist_publication()    P2       all publications are durable: one fence
//         release all locks
//
// An index implements insert_piece(op, piece).
//
// Guarantees. Each entry is an insert of its own: atomic, durable when the call returns, without an
// order among entries. A crash during the call leaves any subset of them. If a key occurs twice,
// its first value is kept.
//
// Persist order of a piece.
//  P1  Every record is durable before the first publication. The words published later may become
//      durable in any order, and each refers to a durable record.
//  P2  Every publication is durable before the first lock is released and before the call returns.
//      A reader finds a published word under a lock that is still held, so it makes the word
//      durable itself (operation::note_dependency()). The fence also covers what the piece has read
//      of its own writes (a key that occurs twice).
//
// Lock order. A piece holds several locks; a single writer holds one. So a piece must not wait for
// a lock while it holds others, unless all pieces lock in one order and single writers never take a
// second lock. Each index documents its choice, or that it has no locks. An entry that cannot be
// inserted this way (a full node, a lock that is held) is left over: it is inserted by itself after
// the locks are released, or in another piece. If an entry is left over, later entries with the
// same key are left over, too, or they would overtake it.
//
// Bulk load. insert_many() with keys in order is the bulk load: the entries of a piece then share
// nodes. Tests count its fences.
//
// Full region or disk. errc::no_space, possibly after some entries were inserted.
//
// Literature. Lee et al., "RECIPE", SOSP 2019, has no batches. The argument is that of group commit
// (DeWitt et al., SIGMOD 1984), applied to words.
#pragma once

#include "index/common/index.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>

namespace hf {

/// Entries under two fences. A larger number holds more locks for longer, and saves little.
inline constexpr std::size_t batch_entries = 32;

template <class I>
using batch_entry = std::pair<typename I::key, typename I::value>;

template <class I>
concept batching_index = eager_index<I> && requires(I& i, typename I::operation& op,
                                                    std::span<const batch_entry<I>> piece) {
    { i.insert_piece(op, piece) } -> std::same_as<result<u64>>;
};

/// Inserts all entries. Returns the number of keys that were new.
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

/// The records of a piece. Each has a word by its index in the piece. The destructor frees those
/// that were not published.
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
    /// Checks the sizes of all entries, and makes their records if `has_records`.
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

/// The outcome for an entry in its piece: inserted, key already present, or left over.
enum class placing : u8 { done, there, left };

/// The indexes of the entries that a piece has left over.
template <class I>
class batch_rest {
   public:
    explicit batch_rest(std::span<const batch_entry<I>> piece) noexcept : piece_(piece) {}

    void leave(std::size_t i) noexcept { left_ |= u32{1} << i; }
    /// Calls place(i) for each entry, but leaves over an entry whose key was left over before.
    /// Returns the number inserted. Each entry restarts the step count, as a traversal of its own.
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
    /// Inserts the left-over entries one by one, with no lock held. Returns the number of new keys,
    /// including `inserted`.
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
    /// Inserts the first left-over entry by itself, which may split a full node, and the others as
    /// another piece. If nothing of this piece was inserted, inserts all one by one.
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
