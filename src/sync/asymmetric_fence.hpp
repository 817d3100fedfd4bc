// asymmetric_fence.hpp: a store-load fence whose frequent side costs nothing.
//
// Purpose. The classic flag protocol ("I am inside" / "the gate is closed") needs a store-load
// fence on both sides. The frequent side here is every operation of every thread; the rare side is
// an epoch's end. So the rare side pays for both: heavy_fence() makes the kernel run a full barrier
// on every processor that runs a thread of this process (membarrier(2), PRIVATE_EXPEDITED), and
// light_fence() is a compiler barrier.
//
// Guarantee. If thread T does `A; light_fence(); B` and another one `C; heavy_fence(); D`, then D
// sees A, or B sees C. If the kernel has no membarrier, and under ThreadSanitizer (which
// models neither), light_fence() is a real fence.
//
// Literature: membarrier(2); Dice, Huang, Yang, "Asymmetric Dekker Synchronization" (2001).
#pragma once

#include "base/tsan.hpp"

#include <atomic>

namespace hf {

namespace detail {
/// True if membarrier(2) is registered for this process. Constant, determined before main().
extern const bool membarrier_available;
}  // namespace detail

inline void light_fence() noexcept {
#if defined(HF_TSAN)
    // Sequentially consistent operations on one word, which TSan models.
    static std::atomic<int> word{0};
    word.fetch_add(0, std::memory_order_seq_cst);
#else
    if (detail::membarrier_available) [[likely]] {
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
#endif
}

/// True if light_fence() is only a compiler barrier. The result never changes: a caller may test it
/// once and then use free_light_fence().
[[nodiscard]] inline bool light_fence_is_free() noexcept {
#if defined(HF_TSAN)
    return true;  // so that TSan checks code that relies on it; free_light_fence() is a real one
#else
    return detail::membarrier_available;
#endif
}
[[gnu::always_inline]] inline void free_light_fence() noexcept {
#if defined(HF_TSAN)
    light_fence();
#else
    std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

void heavy_fence() noexcept;

}  // namespace hf
