// region/reservation.hpp: finds and reserves the range of addresses for the arena (arena.hpp).
//
// A try costs a system call or two and is made once in a process. Each size is tried where the
// kernel likes first and given back (a probe), before a fixed address is tried: tools that cannot
// reserve that many bytes refuse the probe at once, but might take minutes for the fixed one, or
// die of it.
//
// Concurrency. The caller holds the arena's lock.
#pragma once

#include "base/bits.hpp"

#include <cstddef>

namespace hf::detail {

struct reservation {
    std::byte* begin = nullptr;  ///< aligned to a window; nullptr: the kernel refuses, see errno
    u64 bytes = 0;
    unsigned windows = 0;  ///< 1 where bytes is less than a window
};

/// PROT_NONE, and no other memory with access lies in the windows that it begins or fills.
[[nodiscard]] reservation reserve_arena() noexcept;

/// How the memory is mapped that is reserved only.
extern const int reservation_flags;

}  // namespace hf::detail
