// checkpoint/heap/upgrade.hpp: a heap that an older Holdfast laid.
//
// It is taken over as it is: its root says of which format it is, for ever (layout.hpp).
#pragma once

#include "alloc/geometry.hpp"
#include "recovery/upgrade.hpp"

namespace hf {

inline const upgrade_step heap_upgrade{alloc_format.name, 1, 2,
                                       [](region&) { return result<void>{}; }};

}  // namespace hf
