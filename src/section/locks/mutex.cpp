// Mutexes of all kinds, and the threads' own start.
#include "section/locks/locked.hpp"

#include <memory>

using hf::section::check_destroyed;
using hf::section::give;
using hf::section::take;
using hf::section::try_take;
using hf::section::real::libc;

#define HF_SITE __builtin_return_address(0)

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

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* m) {
    return take(
        m, HF_SITE, [m] { return libc().mutex_trylock(m); }, [m] { return libc().mutex_lock(m); },
        [m] { return libc().mutex_unlock(m); });
}

int pthread_mutex_trylock(pthread_mutex_t* m) {
    return try_take(m, HF_SITE, [m] { return libc().mutex_trylock(m); });
}

int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* until) {
    return take(
        m, HF_SITE, [m] { return libc().mutex_trylock(m); },
        [=] { return libc().mutex_timedlock(m, until); }, [m] { return libc().mutex_unlock(m); });
}

int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* until) {
    return take(
        m, HF_SITE, [m] { return libc().mutex_trylock(m); },
        [=] { return libc().mutex_clocklock(m, clock, until); },
        [m] { return libc().mutex_unlock(m); });
}

int pthread_mutex_unlock(pthread_mutex_t* m) {
    return give(m, "pthread_mutex_unlock", HF_SITE, [m] { return libc().mutex_unlock(m); });
}

int pthread_mutex_destroy(pthread_mutex_t* m) {
    check_destroyed(m, "pthread_mutex_destroy", HF_SITE);
    return libc().mutex_destroy(m);
}

// The journal's and the clock's threads take locks that are no sections.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) {
    if (!hf::section::is_inside_runtime()) {
        return libc().create(thread, attributes, function, argument);
    }
    auto s = std::make_unique<start>(start{function, argument});
    const int result = libc().create(thread, attributes, run_for_runtime, s.get());
    if (result == 0) {
        [[maybe_unused]] const start* const taken = s.release();  // by the new thread
    }
    return result;
}

int hf_not_a_consistency_lock(const void* lock) { return hf::section::add_exempt(lock) ? 0 : 8; }

}  // extern "C"
