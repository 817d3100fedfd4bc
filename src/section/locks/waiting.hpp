// section/locks/waiting.hpp: condition variables (rule C5): a wait ends the section and begins
// another.
//
// A thread that holds one lock, once, leaves the gate, waits, and enters again with the mutex held.
// If the gate is closed then, it gives the mutex back, waits at the gate, and takes the mutex as
// the outermost lock; a slower return from a wait is legal. A thread that holds more stays inside:
// cuts fail until its wait ends, and the report names it.
//
// Cancellation acts in the wait: the C library takes the mutex again and runs the cleanup handlers,
// which give it back. The thread enters before them, by a destructor; it then waits at the gate
// with the mutex held, for the leader's time-out at most.
#pragma once

#include "section/locks/locked.hpp"

namespace hf::section {

namespace detail {

[[nodiscard]] inline bool holds_only(const thread_record& r, const pthread_mutex_t* m) {
    return r.depth == 1 && r.held.size() == 1 && r.held[0].lock == m &&
           r.held[0].adopted == nullptr;
}

/// Outside, from construction until comes_back() or, if the thread is cancelled, destruction.
class left_gate {
   public:
    left_gate(thread_record& r, const void* mutex, const void* site)
        : record_(r), mutex_(mutex), site_(site) {
        r.held.clear();
        runtime::releasing(r, mutex, access::exclusive);
        runtime::leave(r);
    }
    left_gate(const left_gate&) = delete;
    left_gate& operator=(const left_gate&) = delete;
    ~left_gate() {
        if (is_back_) return;
        runtime::get().enter(record_, site_);
        note_held(record_, mutex_, access::exclusive, 0);
    }
    void comes_back() { is_back_ = true; }

   private:
    thread_record& record_;
    const void* mutex_;
    const void* site_;
    bool is_back_ = false;
};

/// In graph mode, for a thread that stays inside: the wait gives the mutex back and takes it again,
/// also if the thread is cancelled.
class handed_over {
   public:
    handed_over(thread_record& r, const void* mutex) : record_(r), mutex_(mutex) {
        runtime::releasing(r, mutex, access::exclusive);
    }
    handed_over(const handed_over&) = delete;
    handed_over& operator=(const handed_over&) = delete;
    ~handed_over() { runtime::acquired(record_, mutex_, access::exclusive); }

   private:
    thread_record& record_;
    const void* mutex_;
};

/// The wait has returned with the mutex held, and the thread is outside.
inline int enter_with(thread_record& r, pthread_mutex_t* m, const void* site, int result) {
    runtime& all = runtime::get();
    bool is_inside = all.try_enter(r, site);
    if (!is_inside && result == EOWNERDEAD) {  // kept: see locked.hpp
        all.enter(r, site);
        is_inside = true;
    }
    if (is_inside) {
        note_held(r, m, access::exclusive, result);
        return result;
    }
    real::libc().mutex_unlock(m);
    const int taken = take_outermost(
        r, m, access::exclusive, site, [m] { return real::libc().mutex_trylock(m); },
        [m] { return real::libc().mutex_lock(m); }, [m] { return real::libc().mutex_unlock(m); });
    return taken == 0 ? result : taken;
}

}  // namespace detail

/// The wait of a condition variable with mutex `m`; `wait` is the C library's.
template <class Wait>
int wait_for(pthread_mutex_t* m, const void* site, Wait wait) {
    if (passes_through(m)) return wait();
    thread_record& r = runtime::get().me();
    if (!detail::holds_only(r, m)) {
        const detail::handed_over inside(r, m);
        return wait();
    }
    int result = 0;
    {
        detail::left_gate outside(r, m, site);
        result = wait();
        outside.comes_back();
    }
    // 0, a time-out, a wrong argument: the mutex is held in any case but this one.
    return result == ENOTRECOVERABLE ? result : detail::enter_with(r, m, site, result);
}

}  // namespace hf::section
