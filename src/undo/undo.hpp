// undo/undo.hpp: the undo log.
//
// A copy of an object at its first change in an epoch, durable before the change, and applied at
// the next open if the epoch was interrupted (undo_log.hpp); the segments that the logs of all
// lanes lie in (log_space.hpp). It knows regions and epochs, no discipline.
#pragma once

#include "undo/log_space.hpp"
#include "undo/undo_log.hpp"
