// transaction/write_set.hpp: the private copies of the lines that a transaction stores to.
//
// A line's copy has only the words that were stored to: the others may belong to
// new blocks, which are stored to in place. A line is found by a table of line numbers. Clearing it
// is a new stamp, so a short transaction after a long one pays nothing for it. Lines enter the
// table at the first search: a transaction that stores to each line once never needs it.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace hf {

/// The mask of a line whose words were all stored to.
inline constexpr u8 all_words = 0xff;

/// Calls f(i) for each set bit i of the mask, in order. No branch for a clear bit, since the set
/// ones are unpredictable; but for a whole line a loop that the compiler unrolls.
template <class F>
void each_word(u8 mask, F&& f) {
    if (mask == all_words) {
        for (unsigned i = 0; i < 8; ++i) f(i);
        return;
    }
    for (unsigned left = mask; left != 0; left &= left - 1) {
        f(static_cast<unsigned>(std::countr_zero(left)));
    }
}

/// Words without a store are undefined; initialising them would be a large part of a store's
/// cost.
struct written_line {
    u64 line;  ///< address / 64
    u8 mask;   ///< bit i: words[i] was stored to
    std::array<u64, 8> words;
};

/// Stamp: a smaller type wraps around earlier, for tests.
template <class Stamp>
class stamped_write_set {
   public:
    stamped_write_set()
        : lines_(std::make_unique_for_overwrite<written_line[]>(first_slots / 2)),
          slots_(first_slots) {}

    /// The copy that was found or added last, if it is that line's.
    [[nodiscard]] written_line* last(u64 line) noexcept {
        return last_line_ == line ? last_ : nullptr;
    }
    /// The copy of the line; nullptr: there is none.
    [[nodiscard]] written_line* find(u64 line) noexcept {
        if (size_ == 0) return nullptr;
        if (last_line_ == line) return last_;
        enter_all();
        const u64 mask = slots_.size() - 1;
        const slot* const slots = slots_.data();
        for (u64 i = hash(line);; ++i) {
            const slot s = slots[i & mask];
            if (s.stamp != stamp_) return nullptr;
            if (lines_[s.index].line == line) return remember(lines_[s.index]);
        }
    }
    /// True if one more line fits without an allocation.
    [[nodiscard]] bool has_room() const noexcept { return size_ < room_; }
    /// Adds a line without a copy. After std::bad_alloc nothing has changed.
    [[nodiscard]] written_line& add(u64 line) {
        if (size_ == room_) [[unlikely]] {
            widen();
        }
        written_line& l = lines_[size_++];
        l.line = line;
        l.mask = 0;
        return *remember(l);
    }
    void clear() noexcept {
        // Otherwise accesses after a long transaction would miss the cache.
        if (slots_.size() > most_kept_slots && 8 * size_ < slots_.size()) {
            slots_.resize(most_kept_slots);
            room_ = most_kept_slots / 2;
        }
        size_ = 0;
        last_line_ = no_line;
        if (std::exchange(entered_, 0) == 0) return;
        if (++stamp_ == 0) {  // the stamps of past transactions would come again
            for (slot& s : slots_) s.stamp = 0;
            stamp_ = 1;
        }
    }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] std::span<const written_line> lines() const noexcept {
        return {lines_.get(), size_};
    }

   private:
    static constexpr std::size_t first_slots = 64;
    static constexpr std::size_t most_kept_slots = 1024;
    static constexpr u64 no_line = ~u64{0};
    struct slot {
        Stamp stamp = 0;
        u32 index = 0;
    };

    [[nodiscard]] static u64 hash(u64 line) noexcept {
        return (line * 0x9e3779b97f4a7c15) >> 32;  // 2^64 by the golden ratio
    }
    [[nodiscard]] written_line* remember(written_line& l) noexcept {
        last_line_ = l.line;
        return last_ = &l;
    }
    void enter(u64 line, u32 index) noexcept {
        const u64 mask = slots_.size() - 1;
        slot* const slots = slots_.data();
        u64 i = hash(line);
        while (slots[i & mask].stamp == stamp_) ++i;
        slots[i & mask] = {stamp_, index};
    }
    void enter_all() noexcept {
        for (; entered_ < size_; ++entered_) enter(lines_[entered_].line, entered_);
    }
    [[gnu::noinline]] void widen() {
        auto lines = std::make_unique_for_overwrite<written_line[]>(2 * std::size_t{room_});
        slots_ = std::vector<slot>(2 * slots_.size());
        std::copy_n(lines_.get(), size_, lines.get());
        lines_ = std::move(lines);
        room_ = 2 * room_;
        stamp_ = 1;
        entered_ = 0;
        last_line_ = no_line;
    }

    std::unique_ptr<written_line[]> lines_;
    u32 size_ = 0;
    u32 room_ = first_slots / 2;  ///< maximum number of lines, half of the table's slots
    std::vector<slot> slots_;
    Stamp stamp_ = 1;
    u32 entered_ = 0;  ///< number of lines in the table: the first ones
    u64 last_line_ = no_line;
    written_line* last_ = nullptr;
};

using write_set = stamped_write_set<u32>;

}  // namespace hf
