// heap/testing.hpp: for tests of crashes.
#pragma once

#include "heap/core.hpp"

namespace hf::nv {

struct heap_testing {
    /// Leaves the heap as a kill would: nothing is closed.
    template <class H>
    static void abandon(heap<H>& h) {
        h.base_.runner_ = nullptr;
        h.base_.core_.reset();
    }
    template <class H>
    [[nodiscard]] static detail::core& inner(heap<H>& h) {
        return *h.base_.core_;
    }
};

}  // namespace hf::nv
