// Where threads wait for each other, interposed: a fiber that would wait gives way instead.
#include "crashlab/runtime/observer.hpp"
#include "crashlab/runtime/raw_syscall.hpp"
#include "crashlab/schedule/fibers.hpp"
#include "crashlab/schedule/yield.hpp"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>

using hf::lab::give_way;
using hf::lab::on_fiber;
using hf::lab::raw_syscall;

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

int sched_yield() noexcept {
    if (on_fiber()) {
        give_way();
        return 0;
    }
    return static_cast<int>(raw_syscall(SYS_sched_yield));
}

// Also beneath std::atomic::wait() and the guards of static variables.
long syscall(long number, ...) noexcept {
    va_list rest;
    va_start(rest, number);
    long a[6];
    for (long& x : a) x = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_futex && on_fiber()) {
        const long command = a[1] & FUTEX_CMD_MASK;
        if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) give_way();
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
