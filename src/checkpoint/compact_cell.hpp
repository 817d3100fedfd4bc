// compact_cell.hpp: a logged 44-bit value in 16 bytes (Cohen et al., ASPLOS 2019, section 5.1).
//
// Purpose. The smallest in-cache-line log: a current value, its value at the start of the epoch of
// its last change, and that epoch, in two 8-byte words of one cache line. It is the header of every
// block of the allocator (the value is then the next free block) and the descriptor of every page.
//
//            63            48 47                              4  3   2  1   0
//   now   : | epoch 35..20   |      value now (44 bits)        | 19 18 | ctr |
//   before: | epoch 17..2    |      value before               |  1  0 | ctr |
//
// Invariants.
//  C1  `before` is written before `now`, both with release stores, both in one line. So under PCSO
//      the medium holds a prefix: (old, old), (old, new before), (new, new).
//  C2  A change in a new epoch uses ctr := now.ctr + 1 in both words. So differing counters mean
//      exactly that the change was interrupted between the two, and `before` then has the value at
//      the epoch's start. The increment is from now.ctr and not from before.ctr: otherwise, after
//      four interruptions in a row, the counters would be equal although the halves are of two
//      epochs.
//  C3  A further change in the same epoch writes `now` alone, with the same counter and epoch.
//
// Recovery (R1). read(): counters differ -> before; epoch failed -> before; else now. Reading
// writes nothing. A cell keeps its failed epoch until it is written again or the background pass
// has refreshed it.
//
// Epochs are kept modulo 2^36 (139 years of 64 ms). full_epoch() takes the newest epoch not above
// the running one; the background pass restamps cells before that becomes ambiguous.
//
// Concurrency. One writer at a time (the owner of the list or of the page); readers may read at any
// time and get one of the two values.
#pragma once

#include "base/bits.hpp"
#include "checkpoint/failed_set.hpp"

#include <atomic>

namespace hf {

struct compact_cell {
    std::atomic<u64> now{0};
    std::atomic<u64> before{0};

    static constexpr unsigned value_bits = 44;
    static constexpr u64 value_limit = u64{1} << value_bits;
    static constexpr unsigned epoch_bits = 36;
    static constexpr u64 epoch_mask = (u64{1} << epoch_bits) - 1;

    /// The decoded contents of a cell.
    struct content {
        u64 now_value;
        u64 before_value;
        u64 epoch;  ///< modulo 2^36; meaningless when torn
        bool torn;  ///< counters differ
    };

    [[nodiscard]] content load() const noexcept {
        const u64 n = now.load(std::memory_order_acquire);
        const u64 b = before.load(std::memory_order_acquire);
        return {value_of(n), value_of(b), (epoch_half(n) << 18) | epoch_half(b),
                counter_of(n) != counter_of(b)};
    }

    /// The newest epoch <= `current` that has these low 36 bits.
    [[nodiscard]] static u64 full_epoch(u64 low, u64 current) noexcept {
        u64 full = (current & ~epoch_mask) | low;
        if (full > current) full = full > epoch_mask ? full - epoch_mask - 1 : 0;
        return full;
    }

    /// True if read() would return the value of the epoch's start.
    [[nodiscard]] bool needs_recovery(const failed_set& failed, u64 current) const noexcept {
        const content c = load();
        return c.torn || failed.contains(full_epoch(c.epoch, current));
    }

    /// The valid value, by rule R1.
    [[nodiscard]] u64 read(const failed_set& failed, u64 current) const noexcept {
        const u64 n = now.load(std::memory_order_acquire);
        if (failed.empty()) return value_of(n);  // cells are torn only by a crash
        const content c = load();
        if (c.torn || failed.contains(full_epoch(c.epoch, current))) return c.before_value;
        return c.now_value;
    }

    /// Changes the value in epoch `current`.
    void write(u64 value, const failed_set& failed, u64 current) noexcept {
        const content c = load();
        const u64 n = now.load(std::memory_order_relaxed);
        const u64 low = current & epoch_mask;
        if (!c.torn && c.epoch == low) {  // C3
            now.store((n & ~value_field) | (value << 4), std::memory_order_release);
            return;
        }
        const u64 old = read(failed, current);
        const u64 counter = (counter_of(n) + 1) & 3;  // C2
        before.store(pack(old, counter, low & half_mask), std::memory_order_release);
        now.store(pack(value, counter, low >> 18), std::memory_order_release);
    }

   private:
    static constexpr u64 half_mask = (u64{1} << 18) - 1;
    static constexpr u64 value_field = (value_limit - 1) << 4;

    static u64 value_of(u64 word) noexcept { return (word >> 4) & (value_limit - 1); }
    static u64 counter_of(u64 word) noexcept { return word & 3; }
    static u64 epoch_half(u64 word) noexcept { return ((word >> 48) << 2) | ((word >> 2) & 3); }
    static u64 pack(u64 value, u64 counter, u64 half) noexcept {
        return ((half >> 2) << 48) | (value << 4) | ((half & 3) << 2) | counter;
    }
};

static_assert(sizeof(compact_cell) == 16);

}  // namespace hf
