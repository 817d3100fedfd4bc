// base/held_up.hpp: work that takes as long as a disk likes.
//
// Purpose. Who waits for a lock calls it damage when nobody gives it back in time
// (sync/patience.hpp). A holder may be waiting for a disk meanwhile, which may take longer: a
// region grows while its caller holds the locks of nodes. As long as anybody does such work,
// nobody's time runs out.
#pragma once

#include "base/bits.hpp"

#include <atomic>

namespace hf {

/// For as long as it lives.
class held_up {
   public:
    held_up() noexcept { count.fetch_add(1, std::memory_order_relaxed); }
    ~held_up() { count.fetch_sub(1, std::memory_order_relaxed); }
    held_up(const held_up&) = delete;
    held_up& operator=(const held_up&) = delete;

    /// Whether anybody in this process is.
    [[nodiscard]] static bool is_anybody() noexcept {
        return count.load(std::memory_order_relaxed) != 0;
    }

   private:
    static inline std::atomic<u64> count{0};  ///< orders nothing
};

}  // namespace hf
