// art/search.hpp: finds the hints of a node that equal a byte.
//
// Purpose. A hint is the key byte that the word with the same index probably has. Readers compare
// all hints at once and then verify the matching words: so a wrong hint is harmless, and the loaded
// hints need not be consistent with each other. SSE2 is always available, AVX2 is checked at run
// time. ThreadSanitizer only knows single loads of atomics, so under it each is loaded by itself.
#pragma once

#include "base/bits.hpp"
#include "base/tsan.hpp"

#include <immintrin.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace hf::art_detail::search {

using hint = std::atomic<u8>;
static_assert(sizeof(hint) == 1 && hint::is_always_lock_free);

/// One bit for each hint; the lowest is the first one's.
using mask = u64;

/// Compares one byte at a time. Each instruction set is a type, so that tests can try all of them.
struct by_bytes {
    template <std::size_t N>
    [[nodiscard]] static mask equal(const std::array<hint, N>& hints, u8 byte) noexcept {
        mask found = 0;
        for (std::size_t i = 0; i < N; ++i) {
            found |= mask{hints[i].load(std::memory_order_acquire) == byte} << i;
        }
        return found;
    }
    static constexpr bool is_there() noexcept { return true; }
};

/// Compares sixteen bytes at a time.
struct by_sse2 {
    template <std::size_t N>
    [[nodiscard]] static mask equal(const std::array<hint, N>& hints, u8 byte) noexcept {
        static_assert(N % 16 == 0);
        const __m128i wanted = _mm_set1_epi8(static_cast<char>(byte));
        mask found = 0;
        for (std::size_t i = 0; i < N; i += 16) {
            const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&hints[i]));
            const auto bits = static_cast<u32>(_mm_movemask_epi8(_mm_cmpeq_epi8(some, wanted)));
            found |= mask{bits} << i;
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        return found;
    }
    static constexpr bool is_there() noexcept { return true; }
};

/// Compares thirty-two bytes at a time.
struct by_avx2 {
    template <std::size_t N>
    [[nodiscard, gnu::target("avx2")]] static mask equal(const std::array<hint, N>& hints,
                                                         u8 byte) noexcept {
        static_assert(N == 48);
        const __m256i wanted = _mm256_set1_epi8(static_cast<char>(byte));
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&hints[0]));
        const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&hints[16]));
        const auto low_bits =
            static_cast<u32>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
        const auto high_bits =
            static_cast<u32>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
        std::atomic_thread_fence(std::memory_order_acquire);
        return mask{low_bits} | mask{high_bits} << 16;
    }
    static bool is_there() noexcept { return __builtin_cpu_supports("avx2") != 0; }
};

/// Always SSE2: for an N48, three comparisons take no longer than checking for AVX2.
template <std::size_t N>
[[nodiscard, gnu::always_inline]] inline mask equal(const std::array<hint, N>& hints,
                                                    u8 byte) noexcept {
#if defined(HF_TSAN)
    return by_bytes::equal(hints, byte);
#else
    return by_sse2::equal(hints, byte);
#endif
}

}  // namespace hf::art_detail::search
