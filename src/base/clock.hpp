// base/clock.hpp: monotonic time in nanoseconds. Only differences are meaningful.
#pragma once

#include "base/bits.hpp"

#include <ctime>

namespace hf {

[[nodiscard]] inline u64 now_ns() noexcept {
    std::timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<u64>(t.tv_sec) * 1'000'000'000U + static_cast<u64>(t.tv_nsec);
}

}  // namespace hf
