// schedule/fibers.hpp: runs several threads on one, switched as a seed determines.
//
// Purpose. Reproducible interleavings. Each thread of a workload is a fiber with its own stack.
// It yields before atomic operations, locks, flushes and fences (yield.hpp), and a
// seeded scheduler chooses the next one. One fiber runs at a time, so the trace is
// a sequence.
//
// Scheduler. PCT: priorities are random, the highest one runs, and at a few random steps
// the running fiber gets the lowest priority. A bug that needs d such points is found
// with a probability of at least 1 / (n k^(d-1)) a run for n threads and k steps (Burckhardt et
// al., "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010). A
// fiber that waits for a lock or spins gets the lowest priority, too. About half of those steps are
// drawn among flushes and fences only: other threads must not treat a store as durable before its
// fence, and few steps of a run are of that kind.
//
// Thread-local variables. Each fiber borrows those of a real thread that only
// sleeps: the base register of the thread's block is switched together with the stack. So
// thread_local, pthread_self() and destructors at a thread's end work as usual.
//
// A thread started by a fiber becomes a fiber of the same run (thread_start.cpp).
#pragma once

#include "base/bits.hpp"

#include <pthread.h>

#include <functional>

namespace hf::lab {

/// Number of steps at which the scheduler preempts the running fiber.
inline constexpr unsigned preemptions = 3;

/// Runs work(0) .. work(threads - 1) interleaved as the seed determines, until all have ended.
/// Preemptions are drawn among the first `about_steps`; 0: the seed determines the range.
void run_on_fibers(unsigned threads, u64 seed, const std::function<void(unsigned)>& work,
                   u64 about_steps = 0);

/// Starts a further fiber of the run; called by a fiber. It is interleaved with the others.
/// Returns its thread, whose thread-local variables it uses.
[[nodiscard]] pthread_t start_fiber(std::function<void()> work);

/// Yields until the fiber has ended. False: not a fiber.
[[nodiscard]] bool join_fiber(pthread_t thread);

/// The running fiber cannot continue before another one has run.
void give_way() noexcept;

/// True if the caller is a fiber of run_on_fibers().
[[nodiscard]] bool on_fiber() noexcept;

}  // namespace hf::lab
