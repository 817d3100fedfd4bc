// eager/published.hpp: a word on the medium by which others find what lies behind it.
//
// One store makes it visible, one line makes it durable. What it refers to is durable before
// (operation::settle()); the word itself behind operation::commit(). Who loads it in between learns
// from the lock beside it that it is not sure (operation::saw()).
#pragma once

#include "base/bits.hpp"

#include <atomic>

namespace hf {

class published {
   public:
    [[nodiscard]] u64 load() const noexcept { return word_.load(std::memory_order_acquire); }
    /// Of memory that nobody can reach yet, or by who notes its line (operation::publish()).
    void store(u64 value) noexcept { word_.store(value, std::memory_order_release); }
    /// Of memory that nobody can reach yet: whoever publishes that has the release store.
    void fill(u64 value) noexcept { word_.store(value, std::memory_order_relaxed); }

   private:
    std::atomic<u64> word_;
};
static_assert(sizeof(published) == 8);

/// Whether both lie in one line: then the medium keeps their order by itself (PCSO).
[[nodiscard]] inline bool same_line(const void* a, const void* b) noexcept {
    return reinterpret_cast<u64>(a) / line_size == reinterpret_cast<u64>(b) / line_size;
}

}  // namespace hf
