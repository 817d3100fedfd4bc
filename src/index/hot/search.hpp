// hot/search.hpp: extracts a key's bits and finds the matching entry of a node.
//
// Purpose. The work of a descent at each node, in two implementations: `by_vectors` uses PEXT and
// AVX2, `by_words` portable instructions. The choice is made when the program starts. by_vectors is
// chosen even on processors with a slow PEXT (Zen 1 and 2). A vector load that extends over the
// node's words is a race to ThreadSanitizer, so under it keys are loaded one by one.
#pragma once

#include "base/tsan.hpp"
#include "index/hot/node.hpp"

#include <immintrin.h>

namespace hf::hot_detail::search {

struct by_words {
    static constexpr bool is_there() noexcept { return true; }

    /// The bits of `from` selected by `mask`, compressed to the low bits (PEXT).
    [[nodiscard]] static constexpr u64 extract(u64 from, u64 mask) noexcept {
        u64 found = 0;
        for (unsigned i = 0; mask != 0; mask &= mask - 1, ++i) {
            if ((from & mask & (0 - mask)) != 0) found |= u64{1} << i;
        }
        return found;
    }
    /// The last entry whose sparse key is a subset of `dense`.
    [[nodiscard]] static u32 fitting(const node* n, u64 word, u32 dense) noexcept {
        const what w = slot_word::what_of(word);
        u32 i = (slot_word::count_of(word) - 1) & 0xff;  // a damaged word may count 0 entries
        while (i != 0 && (n->key(w, i) & ~dense) != 0) --i;
        return i;
    }
};

struct by_vectors {
    static bool is_there() noexcept {
        return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0;
    }
    [[nodiscard, gnu::target("avx2,bmi2")]] static u64 extract(u64 from, u64 mask) noexcept {
        return _pext_u64(from, mask);
    }
    [[nodiscard, gnu::target("avx2,bmi2")]] static u32 fitting(const node* n, u64 word,
                                                               u32 dense) noexcept {
        return last_of(fits(n->behind<std::byte>(keys_at(slot_word::what_of(word))),
                            slot_word::what_of(word), dense),
                       word);
    }
    /// extract() and fitting(), for a node of one window.
    [[nodiscard, gnu::target("avx2,bmi2")]] static u32 find(const node* n, u64 word,
                                                            u64 window) noexcept {
        const auto dense = static_cast<u32>(_pext_u64(window, n->masks[0]));
        return last_of(
            fits(n->behind<std::byte>(keys_at(what::s8)), slot_word::what_of(word), dense), word);
    }

   private:
    [[nodiscard, gnu::target("avx2,bmi2")]] static __m256i load(const std::byte* p) noexcept {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    }
    [[nodiscard]] static u32 last_of(u32 fits, u64 word) noexcept {
        // The first entry has no bits, so it always matches. But a damaged node may contain
        // anything, and a damaged word may count 0 to 255 entries.
        const u32 others = (32 - slot_word::count_of(word)) & 31;
        return 31 - static_cast<u32>(std::countl_zero((fits & ~u32{0} >> others) | 1));
    }
    [[nodiscard, gnu::target("avx2,bmi2")]] static u32 fits(const std::byte* keys, what w,
                                                            u32 dense) noexcept {
        if (width_bits(w) == 1) {
            const __m256i d = _mm256_set1_epi16(static_cast<short>(dense));
            const __m256i a = load(keys);
            const __m256i b = load(keys + 32);
            const __m256i fa = _mm256_cmpeq_epi16(_mm256_and_si256(a, d), a);
            const __m256i fb = _mm256_cmpeq_epi16(_mm256_and_si256(b, d), b);
            const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(fa, fb), 0xd8);
            return static_cast<u32>(_mm256_movemask_epi8(both));
        }
        if (width_bits(w) == 0) {
            const __m256i d = _mm256_set1_epi8(static_cast<char>(dense));
            const __m256i a = load(keys);
            return static_cast<u32>(
                _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(a, d), a)));
        }
        const __m256i d = _mm256_set1_epi32(static_cast<int>(dense));
        u32 found = 0;
        for (u32 i = 0; i < 4; ++i) {
            const __m256i a = load(keys + u64{32} * i);
            const __m256i f = _mm256_cmpeq_epi32(_mm256_and_si256(a, d), a);
            found |= static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(f))) << (8 * i);
        }
        return found;
    }
};

#if defined(HF_TSAN)
inline constexpr bool uses_vectors = false;
#else
inline const bool uses_vectors = by_vectors::is_there();
#endif

[[nodiscard]] inline u64 extract(u64 from, u64 mask) noexcept {
    return uses_vectors ? by_vectors::extract(from, mask) : by_words::extract(from, mask);
}

/// The dense partial key for a node of several groups.
template <class Path, class Key>
[[nodiscard]] inline u32 dense_of_groups(const node* n, what w, const Key& k) noexcept {
    const u16* numbers = n->byte_numbers(w);
    u32 dense = 0;
    for (u32 g = 0; g < groups_of(w) && n->masks[g] != 0; ++g) {
        u64 bytes = 0;
        for (u32 i = 0; i < 8; ++i) bytes = bytes << 8 | Path::byte(k, numbers[8 * g + i]);
        // a sound node has fewer than 32 bits in all
        const int more = std::popcount(n->masks[g]) & 31;
        dense = dense << more | static_cast<u32>(extract(bytes, n->masks[g]));
    }
    return dense;
}

/// The entry that a search for the key follows.
template <class Path, class Key>
[[nodiscard, gnu::always_inline]] inline u32 find(const node* n, u64 word, const Key& k) noexcept {
    if constexpr (!Path::is_short) {
        const what w = slot_word::what_of(word);
        if (has_groups(w)) {
            const u32 dense = dense_of_groups<Path>(n, w, k);
            return uses_vectors ? by_vectors::fitting(n, word, dense)
                                : by_words::fitting(n, word, dense);
        }
    }
    const u64 window = Path::window(k, Path::is_short ? 0 : n->window());
    if (uses_vectors) [[likely]] {
        return by_vectors::find(n, word, window);
    }
    return by_words::fitting(n, word, static_cast<u32>(by_words::extract(window, n->masks[0])));
}

}  // namespace hf::hot_detail::search
