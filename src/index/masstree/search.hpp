// masstree/search.hpp: which of a node's keys equal a slice, or are not above it.
//
// Purpose. A descent compares its slice with fifteen keys per node, which was most of its
// instructions. SIMD instructions compare four or eight words at once. The instruction set is
// checked at run time, because one program is built for all processors.
//
// Why concurrently written words may be loaded so. All of a node's words are atomics, and C++ has
// no atomic load of several. But only a relaxed load of each is needed here:
//  - A result is used only if the node's version says afterwards that no change was in progress
//    (version_lock.hpp), because keys change only under a mark. So even a torn load would be
//    harmless; processors do not tear aligned words.
//  - The loads stay after the preceding load of the version, which is an acquire, and the fence at
//    the end keeps them before the following one (a fence replaces acquire loads: if a relaxed load
//    reads a change, the change's mark is visible after the fence).
// ThreadSanitizer only knows single words, so under it each is loaded by itself.
#pragma once

#include "base/bits.hpp"
#include "base/tsan.hpp"

#include <immintrin.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>

namespace hf::masstree_detail {

using word = std::atomic<u64>;
static_assert(sizeof(word) == sizeof(u64) && word::is_always_lock_free);

namespace search {

/// One bit for each key; the lowest is the first key's.
using mask = unsigned;

/// SIMD instructions compare signed numbers only; flipping this bit maps unsigned order to signed
/// order.
inline constexpr u64 sign = u64{1} << 63;

/// Compares one word at a time. Each instruction set is a type, so that tests can try all of them.
struct by_words {
    template <std::size_t N>
    [[nodiscard]] static mask equal(const std::array<word, N>& keys, u64 slice) noexcept {
        mask found = 0;
        for (std::size_t i = 0; i < N; ++i) found |= mask{load(keys[i]) == slice} << i;
        return found;
    }
    template <std::size_t N>
    [[nodiscard]] static mask not_above(const std::array<word, N>& keys, u64 slice) noexcept {
        mask found = 0;
        for (std::size_t i = 0; i < N; ++i) found |= mask{load(keys[i]) <= slice} << i;
        return found;
    }
    static constexpr bool is_there() noexcept { return true; }

   private:
    [[nodiscard]] static u64 load(const word& w) noexcept {
        return w.load(std::memory_order_acquire);
    }
};

/// Compares two words at a time.
struct by_sse4 {
    template <std::size_t N>
    [[nodiscard, gnu::target("sse4.2")]] static mask equal(const std::array<word, N>& keys,
                                                           u64 slice) noexcept {
        const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(slice));
        mask found = 0;
        for (std::size_t i = 0; i < N; i += 2) {
            const std::size_t at = i + 2 <= N ? i : N - 2;
            const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&keys[at]));
            const __m128i equal = _mm_cmpeq_epi64(two, wanted);
            found |= static_cast<mask>(_mm_movemask_pd(_mm_castsi128_pd(equal))) << at;
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        return found;
    }
    template <std::size_t N>
    [[nodiscard, gnu::target("sse4.2")]] static mask not_above(const std::array<word, N>& keys,
                                                               u64 slice) noexcept {
        const __m128i turn = _mm_set1_epi64x(static_cast<long long>(sign));
        const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(slice ^ sign));
        mask above = 0;
        for (std::size_t i = 0; i < N; i += 2) {
            const std::size_t at = i + 2 <= N ? i : N - 2;
            const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&keys[at]));
            const __m128i greater = _mm_cmpgt_epi64(_mm_xor_si128(two, turn), wanted);
            above |= static_cast<mask>(_mm_movemask_pd(_mm_castsi128_pd(greater))) << at;
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        return ~above & ((mask{1} << N) - 1);
    }
    static bool is_there() noexcept { return __builtin_cpu_supports("sse4.2") != 0; }
};

/// Compares four words at a time.
struct by_avx2 {
    template <std::size_t N>
    [[nodiscard, gnu::target("avx2")]] static mask equal(const std::array<word, N>& keys,
                                                         u64 slice) noexcept {
        static_assert(N >= 4);
        const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(slice));
        mask found = 0;
        for (std::size_t i = 0; i < N; i += 4) {
            const std::size_t at = i + 4 <= N ? i : N - 4;
            const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&keys[at]));
            const __m256i equal = _mm256_cmpeq_epi64(four, wanted);
            found |= static_cast<mask>(_mm256_movemask_pd(_mm256_castsi256_pd(equal))) << at;
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        return found;
    }
    template <std::size_t N>
    [[nodiscard, gnu::target("avx2")]] static mask not_above(const std::array<word, N>& keys,
                                                             u64 slice) noexcept {
        static_assert(N >= 4);
        const __m256i turn = _mm256_set1_epi64x(static_cast<long long>(sign));
        const __m256i wanted = _mm256_set1_epi64x(static_cast<long long>(slice ^ sign));
        mask above = 0;
        for (std::size_t i = 0; i < N; i += 4) {
            const std::size_t at = i + 4 <= N ? i : N - 4;
            const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&keys[at]));
            const __m256i greater = _mm256_cmpgt_epi64(_mm256_xor_si256(four, turn), wanted);
            above |= static_cast<mask>(_mm256_movemask_pd(_mm256_castsi256_pd(greater))) << at;
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        return ~above & ((mask{1} << N) - 1);
    }
    static bool is_there() noexcept { return __builtin_cpu_supports("avx2") != 0; }
};

/// Compares eight words at a time.
struct by_avx512 {
    template <std::size_t N>
    [[nodiscard, gnu::target("avx512f")]] static mask equal(const std::array<word, N>& keys,
                                                            u64 slice) noexcept {
        const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(slice));
        const mask low = _mm512_cmpeq_epu64_mask(first_eight(keys), wanted);
        const mask high = _mm512_mask_cmpeq_epu64_mask(rest<N>(), others(keys), wanted);
        std::atomic_thread_fence(std::memory_order_acquire);
        return low | high << 8;
    }
    template <std::size_t N>
    [[nodiscard, gnu::target("avx512f")]] static mask not_above(const std::array<word, N>& keys,
                                                                u64 slice) noexcept {
        const __m512i wanted = _mm512_set1_epi64(static_cast<long long>(slice));
        const mask low = _mm512_cmple_epu64_mask(first_eight(keys), wanted);
        const mask high = _mm512_mask_cmple_epu64_mask(rest<N>(), others(keys), wanted);
        std::atomic_thread_fence(std::memory_order_acquire);
        return low | high << 8;
    }
    static bool is_there() noexcept { return __builtin_cpu_supports("avx512f") != 0; }

   private:
    /// A mask of the keys after the first eight.
    template <std::size_t N>
    [[nodiscard]] static constexpr __mmask8 rest() noexcept {
        static_assert(N > 8 && N <= 16);
        return static_cast<__mmask8>((1U << (N - 8)) - 1);
    }
    template <std::size_t N>
    [[nodiscard, gnu::target("avx512f")]] static __m512i first_eight(
        const std::array<word, N>& keys) noexcept {
        return _mm512_loadu_si512(keys.data());
    }
    template <std::size_t N>
    [[nodiscard, gnu::target("avx512f")]] static __m512i others(
        const std::array<word, N>& keys) noexcept {
        return _mm512_maskz_loadu_epi64(rest<N>(), keys.data() + 8);
    }
};

/// A mask of the keys equal to `slice`, in all places, used or not.
template <std::size_t N>
[[nodiscard]] inline mask equal(const std::array<word, N>& keys, u64 slice) noexcept {
#if !defined(HF_TSAN)
    if (by_avx512::is_there()) return by_avx512::equal(keys, slice);
    if (by_avx2::is_there()) return by_avx2::equal(keys, slice);
    if (by_sse4::is_there()) return by_sse4::equal(keys, slice);
#endif
    return by_words::equal(keys, slice);
}

/// A mask of the keys <= `slice`, in all places, used or not.
template <std::size_t N>
[[nodiscard]] inline mask not_above(const std::array<word, N>& keys, u64 slice) noexcept {
#if !defined(HF_TSAN)
    if (by_avx512::is_there()) return by_avx512::not_above(keys, slice);
    if (by_avx2::is_there()) return by_avx2::not_above(keys, slice);
    if (by_sse4::is_there()) return by_sse4::not_above(keys, slice);
#endif
    return by_words::not_above(keys, slice);
}

}  // namespace search

}  // namespace hf::masstree_detail
