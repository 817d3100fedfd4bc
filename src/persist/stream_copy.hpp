// persist/stream_copy.hpp: copies that bypass the caches.
//
// Purpose. Data copied only for another thread to write to the disk would evict the program's
//  working set from the caches; and a line that is overwritten completely need not be read first.
// Order. Only a fence orders such stores: call stream_fence() before the store that
//  publishes the copy to another thread. Data that must be durable uses medium::stream().
#pragma once

#include "base/bits.hpp"

#include <immintrin.h>

#include <cstring>

namespace hf {

/// Copies `n` bytes, a multiple of 16; `to` must be aligned to 16.
inline void stream_copy(std::byte* to, const std::byte* from, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; i += sizeof(__m128i)) {
        __m128i word;
        std::memcpy(&word, from + i, sizeof word);
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), word);
    }
}

/// A thread that sees a store made after this also sees the data streamed before it.
inline void stream_fence() noexcept { _mm_sfence(); }

}  // namespace hf
