// snapshot/snapshot.hpp: checkpoints of plain memory.
//
// A region whose changed pages the kernel reports, and whose epochs end by themselves or by a call.
// machine.hpp is all of it; the public face is <holdfast/snapshot.hpp>.
#pragma once

#include "snapshot/machine.hpp"
