// alloc/search_budget.hpp: when a heap may search all free blocks for empty slabs again.
//
// Purpose. Such a search reads every free block. In a full region with many free blocks of other
// sizes each refused allocation would pay for one. So the next search waits until a sixteenth of
// the number of blocks that the last one read has been freed. The first 8,192 are not counted.
#pragma once

#include "base/bits.hpp"

namespace hf {

/// `freed`: blocks freed since the last search; `read`: free blocks that it read.
[[nodiscard]] constexpr bool may_search(u64 freed, u64 read) noexcept {
    constexpr u64 blocks_for_a_freed_one = 16;
    constexpr u64 blocks_for_nothing = 8192;
    return freed * blocks_for_a_freed_one + blocks_for_nothing >= read;
}

}  // namespace hf
