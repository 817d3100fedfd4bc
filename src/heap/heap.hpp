// heap/heap.hpp: typed objects over transactions.
//
// NV-heaps: pointers, reference counts, types that are described on the medium. core.hpp has the
// heap, layout.hpp its bytes, attempt.hpp what a transaction does to counts; check.hpp, mend.hpp
// and upgrade.hpp work on heaps without their program's types.
#pragma once

#include "heap/attempt.hpp"
#include "heap/check.hpp"
#include "heap/core.hpp"
#include "heap/layout.hpp"
#include "heap/type_table.hpp"
