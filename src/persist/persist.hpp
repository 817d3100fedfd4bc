// persist/persist.hpp: from a store to durable.
//
// The only room that executes flushes, fences and streaming stores. medium.hpp defines what they
// mean on each medium, ordered.hpp has the stores whose order within a line matters,
// persist_point.hpp gives each order a name that the crash lab and the kill tests stop at.
#pragma once

#include "persist/counters.hpp"
#include "persist/detect.hpp"
#include "persist/dirty_set.hpp"
#include "persist/medium.hpp"
#include "persist/ordered.hpp"
#include "persist/persist_point.hpp"
