// Condition variables of pthread: waiting.hpp.
#include "section/locks/waiting.hpp"

using hf::section::wait_for;
using hf::section::real::libc;

#define HF_SITE __builtin_return_address(0)

extern "C" {

int pthread_cond_wait(pthread_cond_t* c, pthread_mutex_t* m) {
    return wait_for(m, HF_SITE, [=] { return libc().cond_wait(c, m); });
}

int pthread_cond_timedwait(pthread_cond_t* c, pthread_mutex_t* m, const timespec* until) {
    return wait_for(m, HF_SITE, [=] { return libc().cond_timedwait(c, m, until); });
}

int pthread_cond_clockwait(pthread_cond_t* c, pthread_mutex_t* m, clockid_t clock,
                           const timespec* until) {
    return wait_for(m, HF_SITE, [=] { return libc().cond_clockwait(c, m, clock, until); });
}

}  // extern "C"
