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

    /// nullptr: the line has no copy.
    [[nodiscard]] written_line* find(u64 line) noexcept {
        if (lines_.empty()) return nullptr;
        if (lines_[last_].line == line) return &lines_[last_];
        for (u64 i = hash(line);; ++i) {
            const slot& s = slots_[i & (slots_.size() - 1)];
            if (s.stamp != stamp_) return nullptr;
            if (lines_[s.index].line == line) return &lines_[last_ = s.index];
        }
    }
    /// It has none yet. std::bad_alloc leaves all as it was.
    [[nodiscard]] written_line& add(u64 line) {
        if (2 * (lines_.size() + 1) > slots_.size()) widen();
        lines_.emplace_back(line);
        last_ = static_cast<u32>(lines_.size() - 1);
        enter(last_);
        return lines_.back();
    }
    void clear() noexcept {
        // Or each access of what follows a long transaction would miss the cache.
        if (slots_.size() > most_kept_slots && 8 * lines_.size() < slots_.size()) {
            slots_.resize(most_kept_slots);
        }
        lines_.clear();
        last_ = 0;
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
    struct slot {
        u32 stamp = 0;
        u32 index = 0;
    };

    [[nodiscard]] static u64 hash(u64 line) noexcept {
        return (line * 0x9e3779b97f4a7c15) >> 32;  // 2^64 by the golden ratio
    }
    void enter(u32 index) noexcept {
        u64 i = hash(lines_[index].line);
        while (slots_[i & (slots_.size() - 1)].stamp == stamp_) ++i;
        slots_[i & (slots_.size() - 1)] = {stamp_, index};
    }
    void widen() {
        slots_ = std::vector<slot>(2 * slots_.size());
        stamp_ = 1;
        for (u32 i = 0; i < lines_.size(); ++i) enter(i);
    }

    std::vector<written_line> lines_;
    std::vector<slot> slots_;
    u32 stamp_ = 1;
    u32 last_ = 0;
};

}  // namespace hf
