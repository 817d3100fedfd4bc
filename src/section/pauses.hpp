// section/pauses.hpp: how long the gate was closed, counted by length.
//
// Lengths are counted in steps of a quarter of an octave, so a quantile is at most a fifth too
// large. One thread counts, any may ask.
#pragma once

#include "base/bits.hpp"

#include <array>
#include <atomic>
#include <bit>

namespace hf::section {

class pauses {
   public:
    void note(u64 ns) noexcept {
        std::atomic<u64>& n = counts_[bucket_of(ns)];
        n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    void clear() noexcept {
        for (auto& n : counts_) n.store(0, std::memory_order_relaxed);
    }
    /// At least that share of all pauses (of 1) was no longer; 0: there was none.
    [[nodiscard]] u64 quantile(double share) const noexcept {
        u64 all = 0;
        for (const auto& n : counts_) all += n.load(std::memory_order_relaxed);
        u64 so_far = 0;
        for (u32 i = 0; i < buckets; ++i) {
            so_far += counts_[i].load(std::memory_order_relaxed);
            if (so_far != 0 && static_cast<double>(so_far) >= share * static_cast<double>(all)) {
                return end_of(i);
            }
        }
        return 0;
    }

   private:
    static constexpr u32 buckets = 256;
    /// The exponent, then the two bits after the leading one.
    static constexpr u32 bucket_of(u64 ns) noexcept {
        if (ns < 4) return static_cast<u32>(ns);
        const u32 exponent = static_cast<u32>(std::bit_width(ns)) - 1;
        return 4 * exponent + static_cast<u32>(ns >> (exponent - 2) & 3);
    }
    /// The largest length that is counted in bucket i.
    static constexpr u64 end_of(u32 i) noexcept {
        if (i < 8) return i;
        const u32 exponent = i / 4;
        return ((u64{4} + i % 4 + 1) << (exponent - 2)) - 1;
    }
    std::array<std::atomic<u64>, buckets> counts_{};
};

}  // namespace hf::section
