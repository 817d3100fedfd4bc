// Read-write locks and spin locks. A thread that reads is inside a section like one that writes.
#include "section/locks/locked.hpp"

using hf::section::access;
using hf::section::give;
using hf::section::take;
using hf::section::try_take;
using hf::section::real::libc;

#define HF_SITE __builtin_return_address(0)

namespace {

int* plain(pthread_spinlock_t* s) { return const_cast<int*>(s); }

}  // namespace

extern "C" {

int pthread_rwlock_rdlock(pthread_rwlock_t* l) {
    return take(
        l, access::shared, HF_SITE, [l] { return libc().rwlock_tryrdlock(l); },
        [l] { return libc().rwlock_rdlock(l); }, [l] { return libc().rwlock_unlock(l); });
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t* l, const timespec* until) {
    return take(
        l, access::shared, HF_SITE, [l] { return libc().rwlock_tryrdlock(l); },
        [=] { return libc().rwlock_timedrdlock(l, until); },
        [l] { return libc().rwlock_unlock(l); });
}

int pthread_rwlock_clockrdlock(pthread_rwlock_t* l, clockid_t clock, const timespec* until) {
    return take(
        l, access::shared, HF_SITE, [l] { return libc().rwlock_tryrdlock(l); },
        [=] { return libc().rwlock_clockrdlock(l, clock, until); },
        [l] { return libc().rwlock_unlock(l); });
}

int pthread_rwlock_wrlock(pthread_rwlock_t* l) {
    return take(
        l, access::exclusive, HF_SITE, [l] { return libc().rwlock_trywrlock(l); },
        [l] { return libc().rwlock_wrlock(l); }, [l] { return libc().rwlock_unlock(l); });
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t* l, const timespec* until) {
    return take(
        l, access::exclusive, HF_SITE, [l] { return libc().rwlock_trywrlock(l); },
        [=] { return libc().rwlock_timedwrlock(l, until); },
        [l] { return libc().rwlock_unlock(l); });
}

int pthread_rwlock_clockwrlock(pthread_rwlock_t* l, clockid_t clock, const timespec* until) {
    return take(
        l, access::exclusive, HF_SITE, [l] { return libc().rwlock_trywrlock(l); },
        [=] { return libc().rwlock_clockwrlock(l, clock, until); },
        [l] { return libc().rwlock_unlock(l); });
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t* l) {
    return try_take(l, access::shared, HF_SITE, [l] { return libc().rwlock_tryrdlock(l); });
}

int pthread_rwlock_trywrlock(pthread_rwlock_t* l) {
    return try_take(l, access::exclusive, HF_SITE, [l] { return libc().rwlock_trywrlock(l); });
}

int pthread_rwlock_unlock(pthread_rwlock_t* l) {
    return give(l, "pthread_rwlock_unlock", HF_SITE, [l] { return libc().rwlock_unlock(l); });
}

int pthread_spin_lock(pthread_spinlock_t* s) {
    return take(
        plain(s), access::exclusive, HF_SITE, [s] { return libc().spin_trylock(s); },
        [s] { return libc().spin_lock(s); }, [s] { return libc().spin_unlock(s); });
}

int pthread_spin_trylock(pthread_spinlock_t* s) {
    return try_take(plain(s), access::exclusive, HF_SITE, [s] { return libc().spin_trylock(s); });
}

int pthread_spin_unlock(pthread_spinlock_t* s) {
    return give(plain(s), "pthread_spin_unlock", HF_SITE, [s] { return libc().spin_unlock(s); });
}

}  // extern "C"
