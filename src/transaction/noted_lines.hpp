// transaction/noted_lines.hpp: lines already recorded as dirty by a lane in the running epoch.
// Volatile.
//
// Purpose. A line that many transactions of one epoch change need be written back only once, at the
// epoch's end. If it were recorded at each change, it would be written back with each batch of the
// lane, and leave the cache every time (epoch/lane.hpp), so the next change would wait for memory.
// The allocator's words are such lines: a few thousand for a million blocks. Lines in this table
// are already recorded, as sticky lines, and stay so until the epoch ends.
//
// A table of fixed size. A line that another one has evicted is recorded again, which only costs
// time. The caller must be inside of the epoch: then the lane's lists are not
// emptied before it leaves.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <vector>

namespace hf {

class noted_lines {
   public:
    /// Limit on sticky lines of a lane that does not lengthen the epoch's end by much.
    static constexpr std::size_t most = 4096;

    [[nodiscard]] bool has(u64 line, u64 epoch) const noexcept {
        return epoch == epoch_ && lines_[slot_of(line)] == line;
    }
    /// Adds a line that is in the lane's list. Line 0 contains no words of an allocator.
    void add(u64 line, u64 epoch) noexcept {
        if (epoch != epoch_) {
            std::ranges::fill(lines_, 0);
            epoch_ = epoch;
        }
        lines_[slot_of(line)] = line;
    }

   private:
    [[nodiscard]] static std::size_t slot_of(u64 line) noexcept {
        return (line * 0x9e3779b97f4a7c15) >> 32 & (most - 1);  // 2^64 by the golden ratio
    }

    u64 epoch_ = 0;
    std::vector<u64> lines_ = std::vector<u64>(most);
};

}  // namespace hf
