// store/store.hpp: memcached's semantics over the map.
//
// store_impl.hpp has the invariants of expiry, flush and compare-and-set (I1 to I4),
// store_record.hpp the bytes of a record's header (R1 to R3), store_unique.hpp numbers that no
// crash repeats.
#pragma once

#include "store/store_impl.hpp"
#include "store/store_record.hpp"
#include "store/store_unique.hpp"
