// transaction/noted_lines.hpp: lines that a lane has noted in the running epoch. Volatile.
//
// Purpose. A line that many transactions of one epoch change need be written back only once, at the
// epoch's end. Noted with each change, it is written back with each batch of the lane, and leaves
// the cache every time (epoch/lane.hpp): the next change waits for memory. The allocator's words
// are such lines: a few thousand for a million blocks. So what this table knows is noted already,
// as a sticky line, and stays so until the epoch ends.
//
// A table of fixed size. A line that another one has pushed out is noted again, which costs time
// and nothing else. Who wants to know must be inside of the epoch: then the lane's lists are not
// emptied before it has left.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <vector>

namespace hf {

class noted_lines {
   public:
    /// So many sticky lines of a lane do not lengthen the epoch's end by much.
    static constexpr std::size_t most = 4096;

    [[nodiscard]] bool has(u64 line, u64 epoch) const noexcept {
        return epoch == epoch_ && lines_[slot_of(line)] == line;
    }
    /// It is in the lane's list. Line 0 holds no words of an allocator.
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
