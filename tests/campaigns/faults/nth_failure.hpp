// faults/nth_failure.hpp: lets the Nth system call, or the Nth allocation, fail.
//
// The test program is linked so that the library's calls are intercepted (--wrap in CMakeLists.txt;
// operator new is replaced). When armed, they are counted, over all threads, and the Nth one fails
// with a realistic error. System calls are counted only from Holdfast's own code, allocations from
// all code.
#pragma once

#include "base/bits.hpp"

namespace hf::test::nth {

enum class kind : u8 { none, system_call, allocation };

/// From here on the n-th call fails, counted from 1; 0: none, they are only counted.
void arm(kind what, u64 n) noexcept;
/// Stops counting and failing. Returns the number of calls.
u64 disarm() noexcept;
/// The name of the i-th counted call, from 1; nullptr: there was none, or it exceeds the limit.
[[nodiscard]] const char* call_name(u64 i) noexcept;
inline constexpr u64 most_names = 2000;
/// The call that failed; nullptr: none.
[[nodiscard]] const char* failed_call() noexcept;

}  // namespace hf::test::nth
