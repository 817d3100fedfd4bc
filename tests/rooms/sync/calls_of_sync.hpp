// tests/rooms/sync/calls_of_sync.hpp: the calls of the kernel. The test program is linked so that
// these calls come to calls_of_sync.cpp first (--wrap in CMakeLists.txt).
#pragma once

#include "base/bits.hpp"

namespace hf::test {

inline thread_local u64 yields_of_this_thread = 0;
/// How often membarrier(2) was called with that command, from the start of the process on.
[[nodiscard]] u64 fences_asked(int command) noexcept;

}  // namespace hf::test
