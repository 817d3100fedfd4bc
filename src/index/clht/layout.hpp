// clht/layout.hpp: the format of a CLHT on the medium; clht.hpp explains it.
//
//   root block:  | header, a line | bucket of the hash 0 | directory, 32 words |
//   directory[0] ──> chunk 0            the first 2^c buckets
//   directory[s] ──> table of 2^(s-1) words ──> chunks 2^(s-1) .. 2^s - 1
//   chunk:       | bucket | bucket | ...    2^c of them, c: chunk bits
//   bucket:      | state 8 | key 8 x 3 | value 8 x 3 | next 8 |     one line
//   state:       | version 62 | made | 0 |
//
// An empty word is 0. A key is its full 64-bit hash.
#pragma once

#include "base/tsan.hpp"
#include "eager/published.hpp"
#include "region/layout.hpp"

#include <immintrin.h>

#include <bit>

// ThreadSanitizer does not support vector loads of atomic words.
#if defined(__SSE4_1__) && !defined(HF_TSAN)
#define HF_CLHT_VECTORS 1
#else
#define HF_CLHT_VECTORS 0
#endif

namespace hf::clht_detail {

inline constexpr layout::room_format clht_format{"clht", 1};
inline constexpr unsigned slots = 3;
inline constexpr unsigned directory_words = 32;

struct alignas(line_size) bucket {
    /// Set in the state of a bucket that contains all entries of its number. Without it the
    /// bucket's contents are ignored.
    static constexpr u64 made = 2;
    static constexpr u64 one_version = 4;

    published state;  ///< of the whole chain; unused in overflow buckets
    published key[slots];
    published value[slots];
    published next;  ///< overflow bucket

    [[nodiscard]] bool is_made() const noexcept { return (state.load() & made) != 0; }
    /// Bit i: slot i has this hash. Branchless, because the slot is unpredictable and a
    /// misprediction would discard the loads of following operations. With SIMD, because fewer
    /// waiting instructions allow the processor to start more of the following loads.
    [[nodiscard, gnu::always_inline]] unsigned slots_of(u64 hash) const noexcept {
#if HF_CLHT_VECTORS
        const three k = equal_to(hash);
        return static_cast<unsigned>(_mm_movemask_pd(_mm_castsi128_pd(k.two)) +
                                     4 * _mm_movemask_pd(_mm_castsi128_pd(k.third)));
#else
        const auto is_zero = [](u64 x) { return 1 ^ ((x | (0 - x)) >> 63); };
        return static_cast<unsigned>(is_zero(key[0].load() ^ hash) |
                                     is_zero(key[1].load() ^ hash) << 1 |
                                     is_zero(key[2].load() ^ hash) << 2);
#endif
    }
    /// Makes readers that compare states retry. Only for the holder of the lock.
    void count_version() noexcept { state.store(state.load() + one_version); }

#if HF_CLHT_VECTORS
   private:
    struct three {
        __m128i two;
        __m128i third;  ///< the upper half is unused
    };
    /// Equivalent to three acquire loads: the processor keeps loads in order and does not tear
    /// aligned words; the fence is for the compiler.
    [[nodiscard, gnu::always_inline]] static three load(const published (&words)[slots]) noexcept {
        const three all{_mm_loadu_si128(reinterpret_cast<const __m128i*>(&words[0])),
                        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(&words[2]))};
        std::atomic_signal_fence(std::memory_order_acquire);
        return all;
    }
    [[nodiscard, gnu::always_inline]] three equal_to(u64 hash) const noexcept {
        const __m128i wanted = _mm_set1_epi64x(static_cast<long long>(hash));
        const three k = load(key);
        // Clear the unused half of `third`.
        const __m128i third = _mm_move_epi64(_mm_cmpeq_epi64(k.third, wanted));
        return {_mm_cmpeq_epi64(k.two, wanted), third};
    }
#endif
};
static_assert(sizeof(bucket) == line_size);
static_assert(offsetof(bucket, key) == 8 && offsetof(bucket, value) == 32 &&
              offsetof(bucket, next) == 56);

struct alignas(line_size) root_block {
    static constexpr u64 magic_value = 0x4846434c48540001;  // "HFCLHT", version 1
    u64 magic;
    u32 chunk_bits;
    u32 inline_values;  ///< 1: integer_keys; 0: byte_keys
    u64 reserved[6];
    bucket zero;  ///< the bucket of the key whose hash is 0, stored as the hash 1
    published directory[directory_words];
};
static_assert(offsetof(root_block, chunk_bits) == 8 && offsetof(root_block, zero) == 64 &&
              offsetof(root_block, directory) == 128 && sizeof(root_block) == 384);

/// The directory word that points to a chunk, or to its table.
[[nodiscard]] constexpr unsigned level_of_chunk(u64 chunk) noexcept {
    return static_cast<unsigned>(std::bit_width(chunk));
}
/// The chunk's index in that table; level > 0.
[[nodiscard]] constexpr u64 place_of_chunk(u64 chunk) noexcept {
    return chunk - std::bit_floor(chunk);
}
[[nodiscard]] constexpr u64 table_bytes(unsigned level) noexcept { return u64{8} << (level - 1); }

}  // namespace hf::clht_detail
