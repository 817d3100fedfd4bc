// schedule/fibers.hpp: several threads on one, switched where a seed says so.
#pragma once

#include "base/bits.hpp"

#include <functional>

namespace hf::lab {

/// Runs work(0) .. work(threads - 1), one after the other or interleaved as the seed decides.
void run_on_fibers(unsigned threads, u64 seed, const std::function<void(unsigned)>& work);

}  // namespace hf::lab
