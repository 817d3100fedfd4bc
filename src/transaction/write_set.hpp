// transaction/write_set.hpp: the private copies of the lines that a transaction stores to.
//
// A line's copy holds the words that were stored to, and no others: what lies between may belong to
// fresh blocks, which are stored to in place. Found by a table of line numbers; clearing it is
// a new stamp, so a short transaction behind a long one pays nothing for it.
#pragma once

#include "base/bits.hpp"

#include <array>
#include <bit>
#include <vector>

namespace hf {

/// Calls f(i) for each bit i of the mask, in their order. No branch for a bit that is not there:
/// which ones there are nobody can foretell.
template <class F>
void each_word(u8 mask, F&& f) {
    for (unsigned left = mask; left != 0; left &= left - 1) {
        f(static_cast<unsigned>(std::countr_zero(left)));
    }
}

struct written_line {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): words that no store went to mean
    // nothing, and clearing them is a large part of what a store costs
    explicit written_line(u64 of) noexcept : line(of) {}

    u64 line;     ///< address / 64
    u8 mask = 0;  ///< bit i: words[i] was stored to
    std::array<u64, 8> words;
};

class write_set {
   public:
    write_set() : slots_(first_slots) {}

    /// The copy that was found or added last, if it is that line's.
    [[nodiscard]] written_line* last(u64 line) noexcept {
        return last_line_ == line ? last_ : nullptr;
    }
    /// nullptr: the line has no copy.
    [[nodiscard]] written_line* find(u64 line) noexcept {
        if (lines_.empty()) return nullptr;
        if (last_line_ == line) return last_;
        const u64 mask = slots_.size() - 1;
        const slot* const slots = slots_.data();
        for (u64 i = hash(line);; ++i) {
            const slot s = slots[i & mask];
            if (s.stamp != stamp_) return nullptr;
            if (lines_[s.index].line == line) return remember(lines_[s.index]);
        }
    }
    /// It has none yet. std::bad_alloc leaves all as it was.
    [[nodiscard]] written_line& add(u64 line) {
        const auto index = static_cast<u32>(lines_.size());
        if (2 * (std::size_t{index} + 1) > slots_.size()) [[unlikely]] {
            widen();
        }
        lines_.emplace_back(line);
        enter(line, index);
        return *remember(lines_.back());
    }
    void clear() noexcept {
        // Or each access of what follows a long transaction would miss the cache.
        if (slots_.size() > most_kept_slots && 8 * lines_.size() < slots_.size()) {
            slots_.resize(most_kept_slots);
        }
        lines_.clear();
        last_line_ = no_line;
        if (++stamp_ == 0) {  // after four thousand million transactions
            for (slot& s : slots_) s.stamp = 0;
            stamp_ = 1;
        }
    }
    [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
    [[nodiscard]] const std::vector<written_line>& lines() const noexcept { return lines_; }

   private:
    static constexpr std::size_t first_slots = 64;
    static constexpr std::size_t most_kept_slots = 1024;
    static constexpr u64 no_line = ~u64{0};
    struct slot {
        u32 stamp = 0;
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
    void widen() {
        slots_ = std::vector<slot>(2 * slots_.size());
        stamp_ = 1;
        for (u32 i = 0; i < lines_.size(); ++i) enter(lines_[i].line, i);
    }

    std::vector<written_line> lines_;
    std::vector<slot> slots_;
    u32 stamp_ = 1;
    u64 last_line_ = no_line;
    written_line* last_ = nullptr;
};

}  // namespace hf
