// permutation.hpp: which slots of a leaf are used, and their key order (Masstree, EuroSys 2012,
// section 4.6.2).
//
//   | slot at rank 14 | ... | slot at rank 1 | slot at rank 0 | count |      4 bits each
//
// With fewer than 15 slots the uppermost bits are left for a leaf's seal (checkpoint/seal.hpp).
//
// It is one 8-byte word, so an insert or a removal becomes visible, and reaches the medium, in one
// store. Ranks from `count` on list the free slots.
//
// Slots are filled alternately from both halves of a leaf, whose values are in two lines: a free
// slot can serve as a log of its line (incll/leaf_log.hpp), so each line should keep some.
#pragma once

#include "base/bits.hpp"

namespace hf::masstree_detail {

template <unsigned Width>
class permutation {
    static_assert(Width <= 15);

   public:
    constexpr permutation() noexcept = default;
    constexpr explicit permutation(u64 word) noexcept : word_(word & bits) {}

    /// The slot that is filled as number `i` of an empty leaf.
    [[nodiscard]] static constexpr unsigned nth_slot(unsigned i) noexcept {
        return i % 2 * ((Width + 1) / 2) + i / 2;
    }
    /// A permutation without used slots.
    [[nodiscard]] static constexpr permutation empty() noexcept { return filled(0); }
    /// A permutation with the first n slots used, in the order in which they are filled.
    [[nodiscard]] static constexpr permutation filled(unsigned n) noexcept {
        u64 w = n;
        for (unsigned r = 0; r < Width; ++r) w |= static_cast<u64>(nth_slot(r)) << (4 * r + 4);
        return permutation(w);
    }

    [[nodiscard]] constexpr u64 word() const noexcept { return word_; }
    [[nodiscard]] constexpr unsigned size() const noexcept {
        return static_cast<unsigned>(word_ & 15);
    }
    [[nodiscard]] constexpr bool full() const noexcept { return size() == Width; }
    [[nodiscard]] constexpr unsigned slot(unsigned rank) const noexcept {
        return static_cast<unsigned>((word_ >> (4 * rank + 4)) & 15);
    }

    /// Whether each slot number occurs exactly once, and the count is possible.
    [[nodiscard]] constexpr bool is_valid() const noexcept {
        unsigned named = 0;
        for (unsigned r = 0; r < Width; ++r) named |= 1U << slot(r);
        return size() <= Width && named == (1U << Width) - 1;
    }

    /// Cheap necessary condition for is_valid(): the slot numbers sum to 0+1+...+(Width-1).
    [[nodiscard]] static constexpr bool sums_up(u64 w) noexcept {
        constexpr u64 bytes = 0x0f0f0f0f0f0f0f0f;
        const u64 slots = (w & bits) >> 4;
        const u64 pairs = (slots & bytes) + (slots >> 4 & bytes);
        return pairs * 0x0101010101010101 >> 56 == Width * (Width - 1) / 2;
    }

    /// A bit mask of the used slots.
    [[nodiscard]] constexpr unsigned used() const noexcept {
        unsigned mask = 0;
        const unsigned n = size();
        for (unsigned r = 0; r < n; ++r) mask |= 1U << slot(r);
        return mask;
    }

    /// Whether `slot` is used: whether a nibble of the ranks in use equals it.
    [[nodiscard]] constexpr bool uses(unsigned slot) const noexcept {
        constexpr u64 ones = 0x1111111111111111;
        const u64 differences = (word_ >> 4) ^ (slot * ones);
        const u64 in_use = differences | ~u64{0} << (4 * size());
        return ((in_use - ones) & ~in_use & (ones << 3)) != 0;
    }

    /// The permutation after the free slot `free_slot` was inserted at `rank`.
    [[nodiscard]] constexpr permutation inserted(unsigned rank, unsigned free_slot) const noexcept {
        unsigned at = size();
        while (at < Width - 1 && slot(at) != free_slot) ++at;
        return moved(at, rank, size() + 1);
    }

    /// The permutation after the slot at `rank` was freed; it becomes the last free one.
    [[nodiscard]] constexpr permutation removed(unsigned rank) const noexcept {
        return moved(rank, Width - 1, size() - 1);
    }

   private:
    static constexpr u64 bits = Width == 15 ? ~u64{0} : (u64{16} << (4 * Width)) - 1;

    /// Moves the entry at rank `from` to rank `to`.
    [[nodiscard]] constexpr permutation moved(unsigned from, unsigned to,
                                              unsigned count) const noexcept {
        const u64 all = word_ >> 4;
        const u64 entry = (all >> (4 * from)) & 15;
        const u64 without = (all & below(from)) | (all >> (4 * from + 4)) << (4 * from);
        const u64 with =
            (without & below(to)) | entry << (4 * to) | (without >> (4 * to)) << (4 * to + 4);
        return permutation((with & below(Width)) << 4 | count);
    }
    /// A mask of the ranks below `rank`.
    [[nodiscard]] static constexpr u64 below(unsigned rank) noexcept {
        return (u64{1} << (4 * rank)) - 1;
    }

    u64 word_ = 0;
};

static_assert(permutation<14>::empty().inserted(0, 3).slot(0) == 3);
static_assert(permutation<14>::filled(3).removed(1).slot(1) == 1);
static_assert(permutation<14>::filled(3).removed(1).slot(13) == 7);
static_assert(permutation<14>::filled(14).is_valid() && permutation<15>::filled(15).is_valid());
static_assert(permutation<14>::sums_up(permutation<14>::empty().word()) &&
              permutation<15>::sums_up(permutation<15>::filled(3).removed(1).word()));

}  // namespace hf::masstree_detail
