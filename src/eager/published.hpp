// eager/published.hpp: a word on the medium that points to an object and makes it reachable.
//
// One store makes the object visible; flushing one line makes it durable. The object is durable
// before the store (operation::persist_unpublished()), the word itself after
// operation::persist_publication(). A reader that loads the word in between sees the lock beside it
// held, and treats the word as possibly volatile (operation::note_dependency()).
#pragma once

#include "base/bits.hpp"

#include <atomic>

namespace hf {

class published {
   public:
    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }
    /// For unreachable memory, or for a caller that records the line (operation::publish()).
    void store(u64 value) noexcept { word_.store(value, std::memory_order_release); }
    /// For unreachable memory: the store that publishes the memory is the release.
    void fill(u64 value) noexcept { word_.store(value, std::memory_order_relaxed); }

   private:
    std::atomic<u64> word_;
};
static_assert(sizeof(published) == 8);

/// True if both are in one cache line, where the medium keeps stores in order (PCSO).
[[nodiscard]] inline bool same_line(const void* a, const void* b) noexcept {
    return reinterpret_cast<u64>(a) / line_size == reinterpret_cast<u64>(b) / line_size;
}

}  // namespace hf
