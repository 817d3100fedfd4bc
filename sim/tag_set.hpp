// sim/tag_set.hpp: one set of a simulated cache, kept in a single line of the machine that runs it.
//
// The ways are in the order of their last use, the newest first: an exact LRU without counters.
// A search compares all of them at once, and a move to the front shifts them by one in vectors:
// neither branches on the number of a way. A loop over the ways mispredicts at almost every access
// that misses L1, and took a third of the simulator's time.
#pragma once

#include "base/bits.hpp"

#include <immintrin.h>

#include <array>
#include <bit>

namespace hf::sim {

/// Tags of 31 or 63 bits and a dirty bit below: up to 16 or 8 ways. Ways that a cache does not have
/// stay empty.
template <class Tag>
class alignas(line_size) tag_set {
    static_assert(sizeof(Tag) == 4 || sizeof(Tag) == 8);

   public:
    static constexpr unsigned max_ways = line_size / sizeof(Tag);
    static constexpr Tag empty = static_cast<Tag>(~Tag{0});  ///< of no line

    tag_set() { ways_.fill(empty); }
    [[nodiscard]] Tag operator[](unsigned way) const noexcept { return ways_[way]; }
    [[nodiscard]] Tag& operator[](unsigned way) noexcept { return ways_[way]; }

    /// The way that holds the tag, or max_ways.
    [[nodiscard]] unsigned find(Tag tag) const noexcept {
        const __m128i low = _mm_packs_epi32(same(0, tag), same(1, tag));
        const __m128i high = _mm_packs_epi32(same(2, tag), same(3, tag));
        // One bit a way, or two where tags have 64 bits; another one beyond the last way.
        const int bits = _mm_movemask_epi8(_mm_packs_epi16(low, high));
        return static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(bits) | 1U << 16)) /
               (16 / max_ways);
    }
    /// `first` becomes the newest. Those before `way` move by one, over the one at `way`.
    void push(unsigned way, Tag first) noexcept {
        const __m128i* const mask = ways_below(way + 1);
        __m128i before = all(first);
        for (unsigned i = 0; i < vectors; ++i) {
            const __m128i now = _mm_load_si128(at(i));
            const __m128i shifted = _mm_alignr_epi8(now, before, 16 - sizeof(Tag));
            _mm_store_si128(at(i), _mm_blendv_epi8(now, shifted, _mm_loadu_si128(mask + i)));
            before = now;
        }
    }
    /// As push() over the last of max_ways.
    void push_over_last(Tag first) noexcept {
        __m128i before = all(first);
        for (unsigned i = 0; i < vectors; ++i) {
            const __m128i now = _mm_load_si128(at(i));
            _mm_store_si128(at(i), _mm_alignr_epi8(now, before, 16 - sizeof(Tag)));
            before = now;
        }
    }
    /// Those after `way` move by one, over the one at `way`; the last becomes empty.
    void take(unsigned way) noexcept {
        const __m128i* const mask = ways_below(way);
        __m128i after = all(empty);
        for (unsigned i = vectors; i-- != 0;) {
            const __m128i now = _mm_load_si128(at(i));
            const __m128i shifted = _mm_alignr_epi8(after, now, sizeof(Tag));
            _mm_store_si128(at(i), _mm_blendv_epi8(shifted, now, _mm_loadu_si128(mask + i)));
            after = now;
        }
    }

   private:
    static constexpr unsigned vectors = line_size / sizeof(__m128i);

    [[nodiscard]] __m128i* at(unsigned i) noexcept {
        return reinterpret_cast<__m128i*>(ways_.data()) + i;
    }
    [[nodiscard]] const __m128i* at(unsigned i) const noexcept {
        return reinterpret_cast<const __m128i*>(ways_.data()) + i;
    }
    /// Ones in the ways of vector `i` that hold the tag.
    [[nodiscard]] __m128i same(unsigned i, Tag tag) const noexcept {
        const __m128i now = _mm_load_si128(at(i));
        if constexpr (sizeof(Tag) == 4) {
            return _mm_cmpeq_epi32(_mm_srli_epi32(now, 1), all(tag));
        } else {
            return _mm_cmpeq_epi64(_mm_srli_epi64(now, 1), all(tag));
        }
    }
    [[nodiscard]] static __m128i all(Tag value) noexcept {
        if constexpr (sizeof(Tag) == 4) return _mm_set1_epi32(static_cast<int>(value));
        return _mm_set1_epi64x(static_cast<long long>(value));
    }
    /// A set's vectors, ones in the ways [0, n).
    [[nodiscard]] static const __m128i* ways_below(unsigned n) noexcept {
        alignas(line_size) static constexpr auto masks = [] {
            std::array<Tag, std::size_t{2} * max_ways> m{};
            for (unsigned i = 0; i < max_ways; ++i) m[i] = static_cast<Tag>(~Tag{0});
            return m;
        }();
        return reinterpret_cast<const __m128i*>(masks.data() + (max_ways - n));
    }

    std::array<Tag, max_ways> ways_;
};

}  // namespace hf::sim
