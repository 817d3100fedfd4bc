// base/held_up.hpp: suspends lock time-outs while a thread waits for the disk.
//
// Purpose. A thread that waits longer than some seconds for a node lock assumes that the lock word
// is corrupt (sync/patience.hpp). But the lock's owner may wait for the disk for longer: a region
// grows while its caller holds node locks. While any `held_up` object exists, no lock wait times
// out.
#pragma once

#include "base/bits.hpp"

#include <atomic>

namespace hf {

/// Suspends the time-outs of all threads of the process during its lifetime.
class held_up {
   public:
    held_up() noexcept { count.fetch_add(1, std::memory_order_relaxed); }
    ~held_up() { count.fetch_sub(1, std::memory_order_relaxed); }
    held_up(const held_up&) = delete;
    held_up& operator=(const held_up&) = delete;

    /// True if any thread of this process has such an object.
    [[nodiscard]] static bool is_anybody() noexcept {
        return count.load(std::memory_order_relaxed) != 0;
    }

   private:
    static inline std::atomic<u64> count{0};  ///< relaxed; synchronises nothing
};

}  // namespace hf
