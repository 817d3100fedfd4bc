// Interposed blocking functions: a fiber that would block yields instead.
#include "crashlab/runtime/observer.hpp"
#include "crashlab/runtime/raw_syscall.hpp"
#include "crashlab/schedule/fibers.hpp"
#include "crashlab/schedule/yield.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <cstdarg>
#include <map>

using hf::lab::give_way;
using hf::lab::on_fiber;
using hf::lab::raw_syscall;

namespace {

/// Looks up the condition variable functions by version: dlsym() would find an older version of
/// them.
template <class Function>
Function libc_function(const char* name) {
    return reinterpret_cast<Function>(::dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2"));
}

hf::u64& rings(pthread_cond_t* c) { return *reinterpret_cast<hf::u64*>(c); }

int ring(pthread_cond_t* c) {
    ++rings(c);
    return 0;
}

/// The number of wake-ups of a word on which threads sleep.
hf::u64& calls_for(long word) {
    static std::map<long, hf::u64> calls;
    return calls[word];
}

/// Waits until a wake-up, not until the word changes: a wake-up before the wait is lost, as in the
/// kernel. Any wake-up wakes all sleepers; there is no timeout.
void sleep_on_fiber(long word, unsigned expected) {
    if (__atomic_load_n(reinterpret_cast<const unsigned*>(word), __ATOMIC_ACQUIRE) != expected) {
        return give_way();
    }
    const hf::u64 seen = calls_for(word);
    while (calls_for(word) == seen) give_way();
}

int wait_on_fiber(pthread_cond_t* c, pthread_mutex_t* m) {
    const hf::u64 seen = rings(c);
    pthread_mutex_unlock(m);
    while (rings(c) == seen) give_way();
    return pthread_mutex_lock(m);
}

/// A timed wait ends after every other fiber has run.
int wait_a_while_on_fiber(pthread_cond_t* c, pthread_mutex_t* m) {
    const hf::u64 seen = rings(c);
    pthread_mutex_unlock(m);
    give_way();
    const bool rang = rings(c) != seen;
    pthread_mutex_lock(m);
    return rang ? 0 : ETIMEDOUT;
}

}  // namespace

// NOLINTBEGIN: the names are libc's.
extern "C" {

int pthread_mutex_lock(pthread_mutex_t* m) noexcept {
    hf::lab::yield();
    int refused = pthread_mutex_trylock(m);
    while (refused == EBUSY) {
        sched_yield();
        refused = pthread_mutex_trylock(m);
    }
    hf::lab::tell_acquiring(reinterpret_cast<hf::u64>(__builtin_return_address(0)));
    return refused;
}

int pthread_mutex_unlock(pthread_mutex_t* m) noexcept {
    static const auto real = reinterpret_cast<decltype(&pthread_mutex_unlock)>(
        ::dlsym(RTLD_NEXT, "pthread_mutex_unlock"));
    hf::lab::tell_releasing(reinterpret_cast<hf::u64>(__builtin_return_address(0)));
    return real(m);
}

// Fibers wait for a change of a counter in the variable's first word, which libc leaves at zero as
// long as no real thread waits. Any signal wakes all waiters; they check their condition again.
int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
    if (on_fiber()) return wait_on_fiber(c, m);
    static const auto real = libc_function<decltype(&pthread_cond_wait)>("pthread_cond_wait");
    return real(c, m);
}

int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
    if (on_fiber()) return wait_a_while_on_fiber(c, m);
    static const auto real =
        libc_function<decltype(&pthread_cond_timedwait)>("pthread_cond_timedwait");
    return real(c, m, until);
}

int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                           const timespec* until) {
    if (on_fiber()) return wait_a_while_on_fiber(c, m);
    static const auto real = reinterpret_cast<decltype(&pthread_cond_clockwait)>(
        ::dlsym(RTLD_NEXT, "pthread_cond_clockwait"));
    return real(c, m, clock, until);
}

int pthread_cond_signal(pthread_cond_t* c) noexcept {
    if (on_fiber()) return ring(c);
    static const auto real = libc_function<decltype(&pthread_cond_signal)>("pthread_cond_signal");
    return real(c);
}

int pthread_cond_broadcast(pthread_cond_t* c) noexcept {
    if (on_fiber()) return ring(c);
    static const auto real =
        libc_function<decltype(&pthread_cond_broadcast)>("pthread_cond_broadcast");
    return real(c);
}

int sched_yield() noexcept {
    if (on_fiber()) {
        give_way();
        return 0;
    }
    return static_cast<int>(raw_syscall(SYS_sched_yield));
}

// Also used by std::atomic::wait() and the guards of static variables.
long syscall(long number, ...) noexcept {
    va_list rest;
    va_start(rest, number);
    long a[6];
    for (long& x : a) x = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_futex && on_fiber()) {
        const long command = a[1] & FUTEX_CMD_MASK;
        if (command == FUTEX_WAKE) ++calls_for(a[0]);
        if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
            sleep_on_fiber(a[0], static_cast<unsigned>(a[2]));
        }
        return 0;
    }
    const long done = raw_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (done < 0 && done > -4096) {
        errno = static_cast<int>(-done);
        return -1;
    }
    return done;
}

}  // extern "C"
// NOLINTEND
