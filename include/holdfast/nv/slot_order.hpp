// holdfast/nv/slot_order.hpp: which slots of a node are in use, and their order, in one word.
//
//    bits   0 to 3    how many are in use: n
//           4i + 4    slot of the i-th, for i < n; behind them the slots that are free
//
// So an entry is put between others, or goes from between them, by one store of a word, and the
// others stay where they are.
//
// Literature: Mao, Kohler, Morris, "Cache Craftiness for Fast Multicore Key-Value Storage"
// (EuroSys 2012), section 4.6.2, for permutations of nodes; Chen, Jin, "Persistent B+-Trees in
// Non-Volatile Main Memory" (PVLDB 2015), for what they save in persistent memory.
#pragma once

#include <cstdint>

namespace hf::nv::detail {

class slot_order {
   public:
    static constexpr std::uint32_t most = 15;  ///< slots that a word can order

    constexpr explicit slot_order(std::uint64_t word) noexcept : word_(word) {}
    /// The first n slots are in use, in their order, and the others are free.
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
    /// Whether the first 14 in the order, in use or free, are slots below 14.
    [[nodiscard]] constexpr bool is_within_14() const noexcept {
        // Of a larger one the bits 8, 4 and 2 are set.
        return (word_ & word_ >> 1 & word_ >> 2 & 0x0222'2222'2222'2220U) == 0;
    }
    /// The first free slot becomes the i-th. i <= count() < most.
    [[nodiscard]] constexpr slot_order inserted(std::uint32_t i) const noexcept {
        const std::uint32_t n = count();
        const std::uint64_t taken = slot(n);
        const std::uint64_t moved = word_ & below(n) & ~below(i);
        return slot_order(
            ((word_ & below(i)) | moved << 4 | taken << (4 * i + 4) | (word_ & ~below(n + 1))) + 1);
    }
    /// The i-th becomes the first free slot. i < count().
    [[nodiscard]] constexpr slot_order erased(std::uint32_t i) const noexcept {
        const std::uint32_t n = count();
        const std::uint64_t freed = slot(i);
        const std::uint64_t moved = word_ & below(n) & ~below(i + 1);
        return slot_order(
            ((word_ & below(i)) | moved >> 4 | freed << (4 * n) | (word_ & ~below(n))) - 1);
    }
    /// The first n stay in use. n <= count().
    [[nodiscard]] constexpr slot_order cut(std::uint32_t n) const noexcept {
        return slot_order((word_ & ~std::uint64_t{15}) | n);
    }

   private:
    /// Bits of the number, and of the first i slots.
    [[nodiscard]] static constexpr std::uint64_t below(std::uint32_t i) noexcept {
        return i >= most ? ~std::uint64_t{0} : (std::uint64_t{1} << (4 * i + 4)) - 1;
    }
    std::uint64_t word_;
};

}  // namespace hf::nv::detail
