// litmus/vector_clock.hpp: happens-before between the threads of a small program.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <array>

namespace hf::litmus {

inline constexpr unsigned max_threads = 4;

/// For each thread how many of its steps, or units, happen before.
using vector_clock = std::array<u64, max_threads>;

inline void join(vector_clock& into, const vector_clock& other) {
    for (unsigned t = 0; t < max_threads; ++t) into[t] = std::max(into[t], other[t]);
}

}  // namespace hf::litmus
