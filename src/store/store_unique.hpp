// store/store_unique.hpp: numbers that are never repeated, not even after restarts and crashes.
//
// Numbers are allocated in blocks of 2^block_bits. A session owns the block whose number is the
// map's generation, which open() increments, plus the number of additional blocks that
// earlier sessions used. A session that has used up its block takes one more: the caller makes the
// incremented count durable first, and only then opens the block. So a client may remember a number
// over a crash, and it is never reused.
//
// U1  A number that is returned is in a block that this session owns: it is next_, and at most
//     last_. During open_block() next_ is greater than last_, and draw() returns nullopt.
// Concurrency: draw() from any thread; open_block() under the caller's lock.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"

#include <atomic>
#include <optional>

namespace hf::detail {

class unique_numbers {
   public:
    static constexpr unsigned block_bits = 40;
    static constexpr u64 block_count = u64{1} << (64 - block_bits);

    /// Numbers skipped at the start of each block: 0, except in tests, which need small blocks.
#ifdef HF_PERSIST_POINTS
    static inline std::atomic<u64> left_out{0};
#else
    static constexpr u64 left_out = 0;
#endif

    /// The next number; nullopt: the block is used up.
    [[nodiscard]] std::optional<u64> draw() noexcept {
        u64 number = next_.load(std::memory_order_relaxed);
        do {
            // After the greatest 64-bit number next_ is 0.
            if (number == 0 || number > last_.load(std::memory_order_acquire)) {
                return std::nullopt;
            }
        } while (!next_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
        return number;
    }

    /// Continues in `block`, without the first `skip` of its numbers. The number 0 is never
    /// returned.
    void open_block(u64 block, u64 skip = 0) noexcept {
        HF_ASSERT(block < block_count && skip < u64{1} << block_bits, "a block of no numbers");
        HF_ASSERT(block << block_bits >= last_.load(std::memory_order_relaxed),
                  "U1: a block that was opened before");
        const u64 first = (block << block_bits) + skip;
        next_.store(first == 0 ? 1 : first, std::memory_order_relaxed);
        last_.store(((block + 1) << block_bits) - 1, std::memory_order_release);
    }

   private:
    std::atomic<u64> next_{0};
    std::atomic<u64> last_{0};  ///< of the block
};

}  // namespace hf::detail
