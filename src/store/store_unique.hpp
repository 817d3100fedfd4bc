// store/store_unique.hpp: numbers that are never given out twice, not even over restarts and
// crashes.
//
// The numbers come in blocks of 2^block_bits. A session owns the block whose number is the map's
// generation, which differs at each opening, plus the count of blocks that earlier sessions needed
// beyond their own. A session that uses its block up takes one more: the caller makes the higher
// count durable first, and only then opens the block. So a number can be remembered by a client
// over a crash and will not come back.
//
// I1  What is given out lies in a block that this session owns: it is next_, and not beyond last_.
// In the midst of open_block() next_ is beyond last_, whoever draws then has nothing yet.
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

    /// So many numbers at the start of each block are left out: 0, but for tests, which want small
    /// blocks.
#ifdef HF_PERSIST_POINTS
    static inline std::atomic<u64> left_out{0};
#else
    static constexpr u64 left_out = 0;
#endif

    /// The next number; nullopt: the block is used up.
    [[nodiscard]] std::optional<u64> draw() noexcept {
        u64 number = next_.load(std::memory_order_relaxed);
        do {
            // Behind the greatest of 64 bits next_ is 0.
            if (number == 0 || number > last_.load(std::memory_order_acquire)) {
                return std::nullopt;
            }
        } while (!next_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
        return number;
    }

    /// Goes on in `block`, leaving the first `skip` of its numbers out. Number 0 is never given
    /// out.
    void open_block(u64 block, u64 skip = 0) noexcept {
        HF_ASSERT(block < block_count && skip < u64{1} << block_bits, "a block of no numbers");
        HF_ASSERT(block << block_bits >= last_.load(std::memory_order_relaxed),
                  "I1: a block that was opened before");
        const u64 first = (block << block_bits) + skip;
        next_.store(first == 0 ? 1 : first, std::memory_order_relaxed);
        last_.store(((block + 1) << block_bits) - 1, std::memory_order_release);
    }

   private:
    std::atomic<u64> next_{0};
    std::atomic<u64> last_{0};  ///< of the block
};

}  // namespace hf::detail
