#include "section/locks/real.hpp"

#include "base/check.hpp"

#include <dlfcn.h>

#include <atomic>

// The functions of a sanitizer's runtime; null elsewhere.
#define HF_WEAK(name) extern "C" __attribute__((weak)) void __interceptor_##name();
HF_WEAK(pthread_mutex_lock)
HF_WEAK(pthread_mutex_trylock)
HF_WEAK(pthread_mutex_timedlock)
HF_WEAK(pthread_mutex_clocklock)
HF_WEAK(pthread_mutex_unlock)
HF_WEAK(pthread_mutex_destroy)
HF_WEAK(pthread_rwlock_rdlock)
HF_WEAK(pthread_rwlock_wrlock)
HF_WEAK(pthread_rwlock_tryrdlock)
HF_WEAK(pthread_rwlock_trywrlock)
HF_WEAK(pthread_rwlock_timedrdlock)
HF_WEAK(pthread_rwlock_timedwrlock)
HF_WEAK(pthread_rwlock_clockrdlock)
HF_WEAK(pthread_rwlock_clockwrlock)
HF_WEAK(pthread_rwlock_unlock)
HF_WEAK(pthread_spin_lock)
HF_WEAK(pthread_spin_trylock)
HF_WEAK(pthread_spin_unlock)
HF_WEAK(pthread_cond_wait)
HF_WEAK(pthread_cond_timedwait)
HF_WEAK(pthread_cond_clockwait)
HF_WEAK(pthread_create)
HF_WEAK(pthread_join)
HF_WEAK(pthread_tryjoin_np)
HF_WEAK(pthread_timedjoin_np)
HF_WEAK(pthread_setcanceltype)
HF_WEAK(pthread_barrier_wait)
HF_WEAK(sem_post)
HF_WEAK(sem_wait)
HF_WEAK(sem_trywait)
HF_WEAK(sem_timedwait)
HF_WEAK(write)
HF_WEAK(writev)
HF_WEAK(send)
HF_WEAK(sendto)
HF_WEAK(sendmsg)
#undef HF_WEAK

namespace hf::section::real {

constinit functions detail::found{};
constinit std::atomic<bool> detail::is_found{false};

namespace {

template <class F>
void look_up(F*& into, void (*interceptor)(), const char* name, const char* version = nullptr) {
    void* p = reinterpret_cast<void*>(interceptor);
    if (p == nullptr) {
        p = version == nullptr ? ::dlsym(RTLD_NEXT, name) : ::dlvsym(RTLD_NEXT, name, version);
    }
    if (p == nullptr) p = ::dlsym(RTLD_NEXT, name);
    HF_CHECK(p != nullptr, "the C library lacks a function that sections need");
    into = reinterpret_cast<F*>(p);
}

}  // namespace

// Two threads may do it at once: both store the same.
const functions& detail::look_all_up() noexcept {
#define HF_FIND(field) look_up(found.field, __interceptor_pthread_##field, "pthread_" #field)
    HF_FIND(mutex_lock);
    HF_FIND(mutex_trylock);
    HF_FIND(mutex_timedlock);
    HF_FIND(mutex_clocklock);
    HF_FIND(mutex_unlock);
    HF_FIND(mutex_destroy);
    HF_FIND(rwlock_rdlock);
    HF_FIND(rwlock_wrlock);
    HF_FIND(rwlock_tryrdlock);
    HF_FIND(rwlock_trywrlock);
    HF_FIND(rwlock_timedrdlock);
    HF_FIND(rwlock_timedwrlock);
    HF_FIND(rwlock_clockrdlock);
    HF_FIND(rwlock_clockwrlock);
    HF_FIND(rwlock_unlock);
    HF_FIND(spin_lock);
    HF_FIND(spin_trylock);
    HF_FIND(spin_unlock);
    HF_FIND(cond_clockwait);
    HF_FIND(create);
    HF_FIND(join);
    HF_FIND(tryjoin_np);
    HF_FIND(timedjoin_np);
    HF_FIND(setcanceltype);
    HF_FIND(barrier_wait);
#undef HF_FIND
    look_up(found.sem_post, __interceptor_sem_post, "sem_post");
    look_up(found.sem_wait, __interceptor_sem_wait, "sem_wait");
    look_up(found.sem_trywait, __interceptor_sem_trywait, "sem_trywait");
    look_up(found.sem_timedwait, __interceptor_sem_timedwait, "sem_timedwait");
    look_up(found.sem_clockwait, nullptr, "sem_clockwait");
    look_up(found.write, __interceptor_write, "write");
    look_up(found.writev, __interceptor_writev, "writev");
    look_up(found.send, __interceptor_send, "send");
    look_up(found.sendto, __interceptor_sendto, "sendto");
    look_up(found.sendmsg, __interceptor_sendmsg, "sendmsg");
    look_up(found.shutdown, nullptr, "shutdown");
    look_up(found.cond_wait, __interceptor_pthread_cond_wait, "pthread_cond_wait", "GLIBC_2.3.2");
    look_up(found.cond_timedwait, __interceptor_pthread_cond_timedwait, "pthread_cond_timedwait",
            "GLIBC_2.3.2");
    is_found.store(true, std::memory_order_release);
    return found;
}

}  // namespace hf::section::real
