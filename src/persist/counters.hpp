// persist/counters.hpp: counts flushes, fences and bytes, per thread.
//
// Each thread writes its own block with a relaxed load and a relaxed store (no locked
// instruction). Any thread may read the blocks, and gets values that are at most a moment old.
// Blocks of ended threads are added to a common sum and reused, so totals never decrease.
#pragma once

#include "base/bits.hpp"

#include <atomic>

namespace hf {

struct persist_counters {
    u64 flushes = 0;  ///< cache lines written back
    u64 fences = 0;
    u64 flushed_bytes = 0;   ///< 64 for each line
    u64 streamed_bytes = 0;  ///< by streaming stores, which bypass the caches

    friend bool operator==(const persist_counters&, const persist_counters&) = default;
};

/// The sum over all threads, including ended ones.
[[nodiscard]] persist_counters total_persist_counters() noexcept;
/// The counts of the calling thread since its start.
[[nodiscard]] persist_counters thread_persist_counters() noexcept;

namespace detail {

struct alignas(line_size) counter_block {
    std::atomic<u64> flushes{0};
    std::atomic<u64> fences{0};
    std::atomic<u64> streamed_bytes{0};
};

extern constinit thread_local counter_block* own_counters;

/// Registers the calling thread.
counter_block& make_own_counters() noexcept;

inline counter_block& counters_of_thread() noexcept {
    counter_block* own = own_counters;
    return own != nullptr ? *own : make_own_counters();
}

inline void count(std::atomic<u64>& counter, u64 more) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace detail
}  // namespace hf
