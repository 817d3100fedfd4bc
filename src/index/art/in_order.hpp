// art/in_order.hpp: iterates over a node's words in byte order, in both directions.
//
// Entries have positions: 0 is the key that ends at the node, 1 + byte that of a slot. An N256 is
// ordered already. A smaller node's slots are all loaded once and sorted without a branch for each
// slot, because the pattern of used slots is unpredictable. Words that point to nodes are announced
// first, so that the caller can prefetch them.
//
// A byte may occur in two of the loaded slots: it was removed from the first after it was loaded,
// and inserted into the second before it was loaded. It still has one position, with the word
// loaded last.
#pragma once

#include "index/art/node.hpp"

#include <immintrin.h>

namespace hf::art_detail {

/// Calls put(word, slot, position) for each entry from a position on, until it returns true.
/// Returns whether it did. Before that, calls meet(word) for each word of an N16 or N48 that points
/// to a node, even if it will not be put.
template <bool Up, class Meet, class Put>
inline bool each_in_order(node256& n, u32 from, Meet&& /*meet*/, Put&& put) {
    for (u32 i = from; Up ? i <= 256 : i <= from; Up ? ++i : --i) {
        const published& slot = i == 0 ? n.end : n.slots[i - 1];
        const u64 w = slot.load();
        if (w != 0 && put(w, slot, i)) return true;
        if (!Up && i == 0) break;
    }
    return false;
}

/// Four slots in byte order, sorted with five comparisons.
template <bool Up>
class four_in_order {
   public:
    explicit four_in_order(node4& n) noexcept {
        for (u32 i = 0; i < 4; ++i) {
            const u64 w = words_[i] = n.slots[i].load();
            order_[i] = w == 0 ? nothing : u32{slot_word::byte_of(w)} << 2 | i;
        }
        sort(0, 1);
        sort(2, 3);
        sort(0, 2);
        sort(1, 3);
        sort(1, 2);
        for (u32 i = 1; i < 4; ++i) {
            if (order_[i - 1] >> 2 == order_[i] >> 2) order_[i - 1] = nothing;
        }
    }
    /// Calls f(word, slot, byte position) until it returns true.
    template <class F>
    bool each(u32 from, F&& f) const {
        for (u32 i = 0; i < 4; ++i) {
            const u32 at = order_[Up ? i : 3 - i];
            if (at == nothing) continue;
            const u32 position = 1 + (at >> 2);
            if (Up ? position < from : position > from) continue;
            if (f(words_[at & 3], at & 3, position)) return true;
        }
        return false;
    }
    [[nodiscard]] const std::array<u64, 4>& words() const noexcept { return words_; }

   private:
    static constexpr u32 nothing = ~u32{0};

    void sort(u32 a, u32 b) noexcept {
        const u32 x = order_[a];
        const u32 y = order_[b];
        order_[a] = std::min(x, y);
        order_[b] = std::max(x, y);
    }
    std::array<u64, 4> words_;  // NOLINT(*-member-init): all of it
    std::array<u32, 4> order_;  // NOLINT(*-member-init): all of it
};

/// The slots of a larger node in byte order: a table maps each byte to its slot, and is searched
/// sixteen bytes at a time.
template <bool Up, std::size_t Width>
class many_in_order {
   public:
    template <class Meet>
    many_in_order(const std::array<published, Width>& slots, Meet&& meet) {
        for (std::size_t i = 0; i < slot_of_.size(); i += 16) {
            _mm_store_si128(reinterpret_cast<__m128i*>(&slot_of_[i]), _mm_setzero_si128());
        }
        u64 nodes = 0;
        for (u32 i = 0; i < Width; ++i) {
            const u64 w = words_[i] = slots[i].load();
            slot_of_[slot_word::byte_of(w) | u64{w == 0} * no_byte] = static_cast<u8>(i + 1);
            nodes |= u64{slot_word::is_node(w)} << i;
        }
        for (; nodes != 0; nodes &= nodes - 1) meet(words_[std::countr_zero(nodes)]);
    }
    template <class F>
    bool each(u32 from, F&& f) const {
        if (!Up && from == 0) return false;
        const u32 first = from == 0 ? 0 : from - 1;
        for (u32 i = first / 64; i < 4; Up ? ++i : --i) {
            u64 left = bytes_of(i);
            if (i == first / 64) {
                left &= Up ? ~u64{0} << (first % 64) : ~u64{0} >> (63 - first % 64);
            }
            while (left != 0) {
                const u32 bit =
                    static_cast<u32>(Up ? std::countr_zero(left) : 63 - std::countl_zero(left));
                left = Up ? left & (left - 1) : left & ~(u64{1} << bit);
                const u32 slot = slot_of_[i * 64 + bit] - 1U;
                if (f(words_[slot], slot, 1 + i * 64 + bit)) return true;
            }
        }
        return false;
    }

   private:
    static constexpr u32 no_byte = 256;  ///< table entry for all unused slots

    /// A mask of those of 64 bytes that have a slot.
    [[nodiscard]] u64 bytes_of(u32 i) const noexcept {
        u64 free = 0;
        for (u32 j = 0; j < 4; ++j) {
            const __m128i some =
                _mm_load_si128(reinterpret_cast<const __m128i*>(&slot_of_[i * 64 + j * 16]));
            const auto bits = _mm_movemask_epi8(_mm_cmpeq_epi8(some, _mm_setzero_si128()));
            free |= u64{static_cast<u32>(bits)} << (16 * j);
        }
        return ~free;
    }
    std::array<u64, Width> words_;             // NOLINT(*-member-init): all of it
    alignas(16) std::array<u8, 272> slot_of_;  // NOLINT(*-member-init): all of it
};

template <bool Up, class N, class Meet, class Put>
inline bool each_in_order(N& n, u32 from, Meet&& meet, Put&& put) {
    const auto put_end = [&] {
        const u64 w = n.end.load();
        return w != 0 && put(w, n.end, 0U);
    };
    const auto put_slot = [&](u64 w, u32 slot, u32 position) {
        return put(w, n.slots[slot], position);
    };
    if (Up && from == 0 && put_end()) return true;
    if constexpr (N::kind == what::n4) {
        const four_in_order<Up> sorted(n);
        if (sorted.each(from, put_slot)) return true;
    } else {
        const many_in_order<Up, std::tuple_size_v<decltype(n.slots)>> sorted(n.slots, meet);
        if (sorted.each(from, put_slot)) return true;
    }
    return !Up && put_end();
}

}  // namespace hf::art_detail
