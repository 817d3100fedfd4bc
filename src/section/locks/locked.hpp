// section/locks/locked.hpp: how taking and giving a lock begins and ends a section.
//
// Purpose. The functions of pthread.h and threads.h that take or give a lock are defined here
// again, and call the C library's. They come first in a program that links hf_section_locks, and in
// one that libholdfast_section.so is loaded into (LD_PRELOAD).
//
// The outermost lock (rule C6 of section.hpp). A thread that waits for it must be outside of the
// gate, or the owner's successors would keep a cut waiting one after the other:
//
//     enter the gate (may wait, holding nothing) -> try the lock -> got it: inside
//          ^                                           | busy
//          |                                     leave the gate, wait for the lock
//          |                                           | got it
//     give the lock back <--- gate closed --- try to enter the gate -> open: inside
//
// So a thread at the closed gate holds no lock. One exception: a robust mutex whose owner died is
// kept (giving it back would make it unusable), and the wait is bounded by the leader's time-out.
//
// A lock that is taken inside a section just counts. Pass-through, with no effect on sections:
// while no group is open, inside the runtime, and for locks named by hf_not_a_consistency_lock().
//
// Graph mode. No cut waits for a thread, so one that waits for its outermost lock stays inside; its
// section has begun before, since the beginning of a section may wait for room in the log. Each
// lock that is taken or given becomes an edge of the graph, also those of
// hf_not_a_consistency_lock(): they make no section, and still order other sections.
//
// A lock given back that the thread does not hold was taken before the group was opened, and is
// passed on; or another thread holds it: then the process ends with a message.
#pragma once

#include "section/locks/exempt.hpp"
#include "section/locks/real.hpp"
#include "section/runtime.hpp"

#include <cerrno>

namespace hf::section {

/// Whether the call has left the caller with the lock.
[[nodiscard]] inline bool has_lock(int result) noexcept {
    return result == 0 || result == EOWNERDEAD;
}

[[nodiscard]] inline bool passes_through(const void* lock) noexcept {
    return !runtime::is_open() || is_inside_runtime() || is_exempt(lock);
}

using graph::access;

/// The thread, inside and one level deeper already, holds the lock now. `result`: of taking it.
void note_held(thread_record& r, const void* lock, access how, int result) noexcept;
/// As note_held() and note_giving(), for a lock that makes no section.
void note_exempt_held(const void* lock, access how, int result) noexcept;
void note_exempt_given(const void* lock) noexcept;

/// Before the lock is given back: its place in the thread's list, or nullopt for one that was taken
/// before the group was opened. Ends the process if another thread holds it.
[[nodiscard]] std::ptrdiff_t find_held(const thread_record& r, const void* lock,
                                       const char* function, const void* site) noexcept;
/// Before and after it is given back.
void note_giving(const thread_record& r, std::ptrdiff_t position) noexcept;
void note_given(thread_record& r, std::ptrdiff_t position) noexcept;
[[noreturn]] void refuse_cancellation(const void* lock, const void* site) noexcept;
/// Ends the process if the calling thread holds the lock. Otherwise the graph forgets it.
void check_destroyed(const void* lock, const char* function, const void* site) noexcept;

/// Ends the process if the calling thread may be cancelled at any instruction (cancellation.cpp).
inline void check_cancellation(const void* lock, const void* site) noexcept {
    if (is_cancelled_anywhere()) [[unlikely]]
        refuse_cancellation(lock, site);
}

/// The outermost lock of a section; see above. `attempt`, `wait` and `give` are the C library's.
template <class Attempt, class Wait, class Give>
int take_outermost(thread_record& r, const void* lock, access how, const void* site,
                   Attempt attempt, Wait wait, Give give) {
    check_cancellation(lock, site);
    runtime& all = runtime::get();
    for (;;) {
        all.enter(r, site);
        int result = attempt();
        const bool stays_inside = runtime::has_graph();
        if (result == EBUSY && stays_inside) result = wait();
        if (has_lock(result)) {
            note_held(r, lock, how, result);
            return result;
        }
        runtime::leave(r);
        if (result != EBUSY || stays_inside) return result;
        result = wait();
        if (!has_lock(result)) return result;
        if (all.try_enter(r, site)) {
            note_held(r, lock, how, result);
            return result;
        }
        if (result == EOWNERDEAD) {
            all.enter(r, site);
            note_held(r, lock, how, result);
            return result;
        }
        give();
    }
}

/// take(), whatever the state of thread and process.
template <class Attempt, class Wait, class Give>
[[gnu::noinline]] int take_slowly(const void* lock, access how, const void* site, Attempt attempt,
                                  Wait wait, Give give) {
    if (passes_through(lock)) {
        const int result = wait();
        if (runtime::has_graph()) note_exempt_held(lock, how, result);
        return result;
    }
    runtime& all = runtime::get();
    thread_record& r = all.me();
    if (r.depth == 0) return take_outermost(r, lock, how, site, attempt, wait, give);
    const int result = wait();
    if (has_lock(result)) {
        all.enter(r, site);
        note_held(r, lock, how, result);
    }
    return result;
}

/// Whether the lock makes or joins a section of epoch mode, by a thread that has had one before:
/// the commonest case.
[[nodiscard]] inline bool is_plain(const thread_record* r, const void* lock) noexcept {
    return r != nullptr && runtime::is_in_epoch_mode() && !is_inside_runtime() &&
           !is_cancelled_anywhere() && !is_exempt(lock);
}

/// Waits for the lock. The fast path is take_outermost() whose first attempt succeeds, or an inner
/// lock.
template <class Attempt, class Wait, class Give>
int take(const void* lock, access how, const void* site, Attempt attempt, Wait wait, Give give) {
    thread_record* const r = detail::my_record;
    if (is_plain(r, lock) && runtime::get().try_enter(*r, site)) [[likely]] {
        const int result = r->depth == 1 ? attempt() : wait();
        if (result == 0) [[likely]] {
            r->held.push({lock, how == access::shared, nullptr});
            return 0;
        }
        if (result == EOWNERDEAD) {
            note_held(*r, lock, how, result);
            return result;
        }
        runtime::leave(*r);
    }
    return take_slowly(lock, how, site, attempt, wait, give);
}

/// Tries the lock. It may wait at the gate, and is never refused because of it.
template <class Attempt>
int try_take(const void* lock, access how, const void* site, Attempt attempt) {
    if (passes_through(lock)) {
        const int result = attempt();
        if (runtime::has_graph()) note_exempt_held(lock, how, result);
        return result;
    }
    check_cancellation(lock, site);
    runtime& all = runtime::get();
    thread_record& r = all.me();
    all.enter(r, site);
    const int result = attempt();
    if (has_lock(result)) {
        note_held(r, lock, how, result);
    } else {
        runtime::leave(r);
    }
    return result;
}

template <class Give>
[[gnu::noinline]] int give_slowly(const void* lock, const char* function, const void* site,
                                  Give real_give) {
    if (passes_through(lock)) {
        if (runtime::has_graph()) note_exempt_given(lock);
        return real_give();
    }
    thread_record& r = runtime::get().me();
    const std::ptrdiff_t position = find_held(r, lock, function, site);
    if (position >= 0) note_giving(r, position);
    const int result = real_give();
    if (result == 0 && position >= 0) note_given(r, position);
    return result;
}

/// The fast path is for the lock that the thread took last. A lock in its list is not exempt, or
/// was not when it was taken, and counts.
template <class Give>
int give(const void* lock, const char* function, const void* site, Give real_give) {
    thread_record* const r = detail::my_record;
    if (r != nullptr && !r->held.empty() && r->held.newest().lock == lock &&
        r->held.newest().adopted == nullptr && runtime::is_in_epoch_mode() && !is_inside_runtime())
        [[likely]] {
        const int result = real_give();
        if (result == 0) {
            r->held.drop_newest();
            runtime::leave(*r);
        }
        return result;
    }
    return give_slowly(lock, function, site, real_give);
}

}  // namespace hf::section
