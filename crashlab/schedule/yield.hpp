// schedule/yield.hpp: where a fiber may be switched.
#pragma once

#include "base/bits.hpp"

namespace hf::lab {

/// Set while fibers run; nullptr otherwise.
extern constinit void (*yield_hook)();

/// The calling fiber's number; 0 outside of fibers.
extern constinit u8 running_fiber;

/// Called before every atomic operation, lock and wait.
inline void yield() {
    if (yield_hook != nullptr) [[unlikely]] {
        yield_hook();
    }
}

}  // namespace hf::lab
