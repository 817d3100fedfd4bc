// schedule/fibers.hpp: several threads on one, switched where a seed says so.
//
// Purpose. Interleavings that can be repeated. Each thread of a workload is a fiber with a stack of
// its own; it gives way before atomic operations, locks, flushes and fences (yield.hpp), and a
// seeded scheduler says who goes on. Whatever the schedule, one fiber runs at a time: the trace is
// a sequence.
//
// Scheduler. PCT: priorities are drawn at random, the highest runs, and at a few steps, drawn at
// random, too, the running fiber falls behind all others. A bug that needs d such points is found
// with a probability of at least 1 / (n k^(d-1)) a run for n threads and k steps (Burckhardt et
// al., "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010). Who
// waits for a lock or spins falls behind, too. About half of those steps are drawn among
// flushes and fences alone: a store that waits for its fence, while others go on, is what a reader
// of it must not take for durable, and few steps of a run are of that kind.
//
// Thread-local variables. Each fiber borrows those of a real thread that does nothing else but
// sleep: with the stack the base register of the thread's block is switched. So thread_local,
// pthread_self() and destructors at a thread's end work as ever.
//
// A thread that a fiber starts is a fiber of the same run (thread_start.cpp).
#pragma once

#include "base/bits.hpp"

#include <pthread.h>

#include <functional>

namespace hf::lab {

/// Steps at which the scheduler takes the turn away from the running fiber.
inline constexpr unsigned preemptions = 3;

/// Runs work(0) .. work(threads - 1) interleaved as the seed decides, until all have ended.
/// Preemptions are drawn among the first `about_steps`; 0: the seed decides among how many.
void run_on_fibers(unsigned threads, u64 seed, const std::function<void(unsigned)>& work,
                   u64 about_steps = 0);

/// A further fiber of the run, begun by one: what it calls is done interleaved with the others.
/// Returns its thread, whose thread-local variables it uses.
[[nodiscard]] pthread_t start_fiber(std::function<void()> work);

/// Gives way until the fiber has ended. False: it is none.
[[nodiscard]] bool join_fiber(pthread_t thread);

/// The running fiber cannot go on before another has.
void give_way() noexcept;

/// Whether the caller is a fiber of run_on_fibers().
[[nodiscard]] bool on_fiber() noexcept;

}  // namespace hf::lab
