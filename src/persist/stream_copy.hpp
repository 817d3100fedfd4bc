// persist/stream_copy.hpp: copies that stay out of the caches.
//
// Purpose. What is copied for another thread to hand to the disk would only drive out of the caches
//  what the program works with; and a line that is stored to as a whole need not be read first.
// Order. Such stores are ordered by nothing but a fence: stream_fence() belongs before the store by
//  which another thread learns of the copy. What has to be durable goes through medium::stream().
#pragma once

#include "base/bits.hpp"

#include <immintrin.h>

#include <cstring>

namespace hf {

/// `n` bytes, a multiple of 16, to where `to` is aligned to 16.
inline void stream_copy(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; i += sizeof(__m128i)) {
        __m128i word;
        std::memcpy(&word, from + i, sizeof word);
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), word);
    }
}

/// What was streamed before is seen by whoever sees what is stored behind it.
inline void stream_fence() noexcept { _mm_sfence(); }

}  // namespace hf
