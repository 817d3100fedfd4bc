// sync/sync.hpp: volatile concurrency.
//
// Locks, versions and thread slots in ordinary memory. Nothing here is on a medium: after a crash
// all of it is new. Read quiescence.hpp first (one thread waits until all others have left a
// section), then version_lock.hpp (one word with a lock for writers and versions for readers).
#pragma once

#include "sync/asymmetric_fence.hpp"
#include "sync/fork.hpp"
#include "sync/patience.hpp"
#include "sync/quiescence.hpp"
#include "sync/spin_lock.hpp"
#include "sync/thread_slots.hpp"
#include "sync/version_lock.hpp"
