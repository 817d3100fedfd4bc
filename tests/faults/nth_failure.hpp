// faults/nth_failure.hpp: the Nth call of the operating system, or the Nth allocation, fails.
//
// The test program is linked so that the library's calls come here first (--wrap in CMakeLists.txt;
// operator new is replaced). Armed, they are counted, over all threads, and the Nth one fails as
// it would in life. Only calls of Holdfast's own code are counted; allocations are everybody's.
#pragma once

#include "base/bits.hpp"

namespace hf::test::nth {

enum class kind : u8 { none, system_call, allocation };

/// From here on the n-th one fails, counted from 1; 0: none, they are only counted.
void arm(kind what, u64 n) noexcept;
/// None fails any more. How many there were.
u64 disarm() noexcept;
/// The i-th call that was counted, from 1; nullptr: there was none, or too many were before it.
[[nodiscard]] const char* call_name(u64 i) noexcept;
inline constexpr u64 most_names = 2000;
/// The call that failed; nullptr: none has.
[[nodiscard]] const char* failed_call() noexcept;

}  // namespace hf::test::nth
