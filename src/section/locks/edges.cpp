// Edges between sections that are no locks: threads' creation and join, semaphores, barriers.
//
// Epoch mode needs none of it (a cut covers all threads), so nothing is done then. In graph mode
// each edge is a shared release on one side and an exclusive acquire on the other (lock_table.hpp).
// A thread's end is a release where its record is given back (runtime.cpp), after its last
// destructor.
//
// C11 threads. The C library's thrd_create() and thrd_join() call it without the dynamic linker;
// a thrd_t is a pthread_t there.
#include "section/locks/locked.hpp"

#include <semaphore.h>
#include <threads.h>

#include <cstdint>
#include <memory>
#include <new>
#include <utility>

using hf::section::access;
using hf::section::is_inside_runtime;
using hf::section::runtime;
using hf::section::thread_object;
using hf::section::real::libc;

namespace {

struct start {
    void* (*function)(void*);
    void* argument;
};

void* run_for_runtime(void* p) {
    const std::unique_ptr<start> s(static_cast<start*>(p));
    hf::section::belong_to_runtime();
    return s->function(s->argument);
}

[[nodiscard]] bool is_ordered() {
    return runtime::is_open() && runtime::has_graph() && !is_inside_runtime();
}

void release(const void* object) {
    if (is_ordered()) runtime::releasing(runtime::get().me(), object, access::shared);
}
/// `result`: of the call that acquires; 0: it has.
template <class Result>
Result acquire(const void* object, Result result) {
    if (result == 0 && is_ordered()) {
        runtime::acquired(runtime::get().me(), object, access::exclusive);
    }
    return result;
}

/// The thread's first step comes after its creation.
void* run_ordered(void* p) {
    const std::unique_ptr<start> s(static_cast<start*>(p));
    static_cast<void>(acquire(s.get(), 0));
    runtime::destroyed(s.get());
    return s->function(s->argument);
}

int create_by(void* (*first)(void*), pthread_t* thread, const pthread_attr_t* attributes,
              const start& all) {
    std::unique_ptr<start> s(new (std::nothrow) start(all));
    if (s == nullptr) return EAGAIN;
    release(s.get());
    const int result = libc().create(thread, attributes, first, s.get());
    if (result == 0) {
        [[maybe_unused]] const start* const taken = s.release();  // by the new thread
    }
    return result;
}

int join_ordered(pthread_t thread, int result) {
    if (result == 0 && is_ordered()) {
        static_cast<void>(acquire(thread_object(thread), 0));
        runtime::destroyed(thread_object(thread));
    }
    return result;
}

struct c11_start {
    thrd_start_t function;
    void* argument;
};

void* run_c11(void* p) {
    const std::unique_ptr<c11_start> s(static_cast<c11_start*>(p));
    const std::intptr_t result = s->function(s->argument);
    return reinterpret_cast<void*>(result);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace

extern "C" {

// Threads that the runtime creates (journal, clock) are marked: their locks open no sections.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
    if (is_inside_runtime()) {
        return create_by(run_for_runtime, thread, attributes, {function, argument});
    }
    if (!is_ordered()) return libc().create(thread, attributes, function, argument);
    return create_by(run_ordered, thread, attributes, {function, argument});
}

int pthread_join(pthread_t thread, void** result) {
    return join_ordered(thread, libc().join(thread, result));
}
int pthread_tryjoin_np(pthread_t thread, void** result) noexcept {
    return join_ordered(thread, libc().tryjoin_np(thread, result));
}
int pthread_timedjoin_np(pthread_t thread, void** result, const timespec* until) {
    return join_ordered(thread, libc().timedjoin_np(thread, result, until));
}

int thrd_create(thrd_t* thread, thrd_start_t function, void* argument) {
    std::unique_ptr<c11_start> s(new (std::nothrow) c11_start{function, argument});
    if (s == nullptr) return thrd_nomem;
    if (pthread_create(thread, nullptr, run_c11, s.get()) != 0) return thrd_error;
    [[maybe_unused]] const c11_start* const taken = s.release();
    return thrd_success;
}
int thrd_join(thrd_t thread, int* result) {
    void* ended = nullptr;
    if (pthread_join(thread, &ended) != 0) return thrd_error;
    if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(ended));
    return thrd_success;
}

// PTHREAD_BARRIER_SERIAL_THREAD is a success, too.
int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
    release(barrier);
    const int result = libc().barrier_wait(barrier);
    static_cast<void>(acquire(barrier, result == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : result));
    return result;
}

int sem_post(sem_t* semaphore) noexcept {
    release(semaphore);
    return libc().sem_post(semaphore);
}
int sem_wait(sem_t* semaphore) { return acquire(semaphore, libc().sem_wait(semaphore)); }
int sem_trywait(sem_t* semaphore) noexcept {
    return acquire(semaphore, libc().sem_trywait(semaphore));
}
int sem_timedwait(sem_t* semaphore, const timespec* until) {
    return acquire(semaphore, libc().sem_timedwait(semaphore, until));
}
int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
    return acquire(semaphore, libc().sem_clockwait(semaphore, clock, until));
}

}  // extern "C"
