// checkpoint/checkpoint.hpp: undo of an interrupted epoch.
//
// The discipline of fine-grained checkpoints: in-cache-line logs (logged_cell.hpp), the set of
// failed epochs (failed_set.hpp), and checkpoint_state.hpp, which undoes lazily what a failed epoch
// has changed. heap/ is the heap that rolls back with it. opening.hpp brings a region up.
#pragma once

#include "checkpoint/checkpoint_state.hpp"
#include "checkpoint/discipline.hpp"
#include "checkpoint/failed_set.hpp"
#include "checkpoint/logged_cell.hpp"
#include "checkpoint/opening.hpp"
#include "checkpoint/operation.hpp"
