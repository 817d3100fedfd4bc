// alloc/alloc.hpp: the memory of a region's structures.
//
// One division of a heap's segments into pages and blocks (geometry.hpp, size_class.hpp), the
// policies that say when an allocation is durable (committed_heap.hpp: with a transaction;
// swept_heap.hpp: found by tracing after a crash), and one audit over all of them (audit.hpp).
#pragma once

#include "alloc/audit.hpp"
#include "alloc/committed_heap.hpp"
#include "alloc/geometry.hpp"
#include "alloc/size_class.hpp"
#include "alloc/swept_heap.hpp"
