// section/locks/real.hpp: the functions of the C library that locks/ stands in front of.
//
// They are looked up by name and version when one of them is first needed: of pthread_cond_* the C
// library has two versions, and the older one is found without the version. Under a sanitizer its
// interceptor is called, so that it sees the lock.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>

#include <atomic>

namespace hf::section::real {

struct functions {
    int (*mutex_lock)(pthread_mutex_t*);
    int (*mutex_trylock)(pthread_mutex_t*);
    int (*mutex_timedlock)(pthread_mutex_t*, const timespec*);
    int (*mutex_clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
    int (*mutex_unlock)(pthread_mutex_t*);
    int (*mutex_destroy)(pthread_mutex_t*);

    int (*rwlock_rdlock)(pthread_rwlock_t*);
    int (*rwlock_wrlock)(pthread_rwlock_t*);
    int (*rwlock_tryrdlock)(pthread_rwlock_t*);
    int (*rwlock_trywrlock)(pthread_rwlock_t*);
    int (*rwlock_timedrdlock)(pthread_rwlock_t*, const timespec*);
    int (*rwlock_timedwrlock)(pthread_rwlock_t*, const timespec*);
    int (*rwlock_clockrdlock)(pthread_rwlock_t*, clockid_t, const timespec*);
    int (*rwlock_clockwrlock)(pthread_rwlock_t*, clockid_t, const timespec*);
    int (*rwlock_unlock)(pthread_rwlock_t*);

    int (*spin_lock)(pthread_spinlock_t*);
    int (*spin_trylock)(pthread_spinlock_t*);
    int (*spin_unlock)(pthread_spinlock_t*);

    int (*cond_wait)(pthread_cond_t*, pthread_mutex_t*);
    int (*cond_timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
    int (*cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

    int (*create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    int (*join)(pthread_t, void**);
    int (*tryjoin_np)(pthread_t, void**);
    int (*timedjoin_np)(pthread_t, void**, const timespec*);
    int (*setcanceltype)(int, int*);
    int (*barrier_wait)(pthread_barrier_t*);

    int (*sem_post)(sem_t*);
    int (*sem_wait)(sem_t*);
    int (*sem_trywait)(sem_t*);
    int (*sem_timedwait)(sem_t*, const timespec*);
    int (*sem_clockwait)(sem_t*, clockid_t, const timespec*);

    ssize_t (*write)(int, const void*, size_t);
    ssize_t (*writev)(int, const iovec*, int);
    ssize_t (*send)(int, const void*, size_t, int);
    ssize_t (*sendto)(int, const void*, size_t, int, const sockaddr*, socklen_t);
    ssize_t (*sendmsg)(int, const msghdr*, int);
    int (*shutdown)(int, int);
};

namespace detail {
extern functions found;
extern std::atomic<bool> is_found;
[[nodiscard]] const functions& look_all_up() noexcept;
}  // namespace detail

/// Any thread, at any time, also before main().
[[nodiscard]] inline const functions& libc() noexcept {
    if (detail::is_found.load(std::memory_order_acquire)) [[likely]]
        return detail::found;
    return detail::look_all_up();
}

}  // namespace hf::section::real
