// schedule/yield.hpp: the points at which a fiber may be switched.
#pragma once

#include "base/bits.hpp"

namespace hf::lab {

/// Set while fibers run; nullptr otherwise. The argument tells if a flush or a fence comes next.
extern constinit void (*yield_hook)(bool before_barrier);

/// The calling fiber's number; 0 outside of fibers.
extern constinit u8 running_fiber;

/// Called before every atomic operation, lock and wait.
inline void yield(bool before_barrier = false) {
    if (yield_hook != nullptr) [[unlikely]] {
        yield_hook(before_barrier);
    }
}

}  // namespace hf::lab
