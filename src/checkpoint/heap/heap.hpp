// checkpoint/heap/heap.hpp: the heap of each discipline of the checkpoint family.
//
// All have one shape: allocate, deallocate, reserve_large, commit_large, cancel_large, base,
// prefetch_header, usage, refresh, recover.
#pragma once

#include "checkpoint/discipline.hpp"
#include "checkpoint/heap/list_heap.hpp"
#include "checkpoint/heap/malloc_heap.hpp"

namespace hf {

template <class D>
using heap = typename D::memory;

}  // namespace hf
