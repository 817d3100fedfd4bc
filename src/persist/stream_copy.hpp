// persist/stream_copy.hpp: copies that stay out of the caches.
//
// Purpose. What is copied for another thread to hand to the disk would only drive out of the caches
//  what the program works with; and a line that is stored to as a whole need not be read first.
// Order. Such stores are ordered by nothing but a fence: stream_fence() belongs before the store
// that
//  tells another thread of the copy. Nothing here makes anything durable.
#pragma once

#include "base/bits.hpp"

#include <immintrin.h>

namespace hf {

/// Copies one line to where one begins.
inline void stream_line(std::byte* to, const std::byte* from) noexcept {
    constexpr std::size_t words = line_size / sizeof(__m128i);
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    for (std::size_t i = 0; i < words; ++i) {
        _mm_stream_si128(target + i, _mm_loadu_si128(source + i));
    }
}

/// What was streamed before is seen by whoever sees what is stored behind it.
inline void stream_fence() noexcept { _mm_sfence(); }

}  // namespace hf
