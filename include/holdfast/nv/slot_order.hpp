// holdfast/nv/slot_order.hpp: the used slots of a node and their order, in one word (a
// permutation).
//
//    bits   0 to 3    n, the number of used slots
//           4i + 4    slot of the i-th entry, for i < n; after these the free slots
//
// One store of a word inserts an entry between others or removes it; the other entries keep their
// slots.
//
// Literature: Mao, Kohler, Morris, "Cache Craftiness for Fast Multicore Key-Value Storage"
// (EuroSys 2012), section 4.6.2: permutations of nodes; Chen, Jin, "Persistent B+-Trees in
// Non-Volatile Main Memory" (PVLDB 2015): the writes that they save in persistent memory.
#pragma once

#include <cstdint>

namespace hf::nv::detail {

class slot_order {
   public:
    static constexpr std::uint32_t most = 15;  ///< slots that a word can order

    constexpr explicit slot_order(std::uint64_t word) noexcept : word_(word) {}
    /// Slots 0 to n-1 are used, in this order; the others are free.
    [[nodiscard]] static constexpr slot_order first(std::uint32_t n) noexcept {
        return slot_order(0xedcb'a987'6543'2100U | n);
    }

    [[nodiscard]] constexpr std::uint64_t word() const noexcept { return word_; }
    [[nodiscard]] constexpr std::uint32_t count() const noexcept {
        return static_cast<std::uint32_t>(word_ & 15);
    }
    /// i < most
    [[nodiscard]] constexpr std::uint32_t slot(std::uint32_t i) const noexcept {
        return static_cast<std::uint32_t>(word_ >> (4 * i + 4) & 15);
    }
    /// True if the first 14 positions, used or free, name slots below 14.
    [[nodiscard]] constexpr bool is_within_14() const noexcept {
        // Slot numbers 14 and 15 have the bits 8, 4 and 2 set.
        return (word_ & word_ >> 1 & word_ >> 2 & 0x0222'2222'2222'2220U) == 0;
    }
    /// The first free slot becomes the i-th entry. i <= count() < most.
    [[nodiscard]] constexpr slot_order inserted(std::uint32_t i) const noexcept {
        const std::uint32_t n = count();
        const std::uint64_t taken = slot(n);
        const std::uint64_t moved = word_ & below(n) & ~below(i);
        return slot_order(
            ((word_ & below(i)) | moved << 4 | taken << (4 * i + 4) | (word_ & ~below(n + 1))) + 1);
    }
    /// The slot of the i-th entry becomes the first free one. i < count().
    [[nodiscard]] constexpr slot_order erased(std::uint32_t i) const noexcept {
        const std::uint32_t n = count();
        const std::uint64_t freed = slot(i);
        const std::uint64_t moved = word_ & below(n) & ~below(i + 1);
        return slot_order(
            ((word_ & below(i)) | moved >> 4 | freed << (4 * n) | (word_ & ~below(n))) - 1);
    }
    /// Only the first n entries stay in use. n <= count().
    [[nodiscard]] constexpr slot_order cut(std::uint32_t n) const noexcept {
        return slot_order((word_ & ~std::uint64_t{15}) | n);
    }

   private:
    /// Mask of the count and of the first i slots.
    [[nodiscard]] static constexpr std::uint64_t below(std::uint32_t i) noexcept {
        return i >= most ? ~std::uint64_t{0} : (std::uint64_t{1} << (4 * i + 4)) - 1;
    }
    std::uint64_t word_;
};

}  // namespace hf::nv::detail
