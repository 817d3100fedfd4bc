// eager/eager.hpp: operations that are durable when they return.
//
// operation.hpp has the protocol between an index and the medium (I1 to I4, P1, P2): a node is
// durable before it is published, and a value that was read is durable before it is returned.
// space.hpp is a region of the discipline, node_lock.hpp its locks, grace.hpp the reuse of unlinked
// memory.
#pragma once

#include "eager/discipline.hpp"
#include "eager/grace.hpp"
#include "eager/node_lock.hpp"
#include "eager/operation.hpp"
#include "eager/published.hpp"
#include "eager/space.hpp"
