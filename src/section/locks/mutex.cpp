// Mutexes of all kinds.
#include "section/locks/locked.hpp"

#include <dlfcn.h>

using hf::section::access;
using hf::section::check_destroyed;
using hf::section::give;
using hf::section::take;
using hf::section::try_take;
using hf::section::real::libc;

namespace {

/// The object that a function lies in: the program, or a library.
[[nodiscard]] const void* object_of(const void* function) noexcept {
    Dl_info found{};
    return ::dladdr(function, &found) != 0 ? found.dli_fbase : nullptr;
}
void in_this_object() noexcept {}

}  // namespace

#define HF_SITE __builtin_return_address(0)

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* m) {
    return take(
        m, access::exclusive, HF_SITE, [m] { return libc().mutex_trylock(m); },
        [m] { return libc().mutex_lock(m); }, [m] { return libc().mutex_unlock(m); });
}

int pthread_mutex_trylock(pthread_mutex_t* m) {
    return try_take(m, access::exclusive, HF_SITE, [m] { return libc().mutex_trylock(m); });
}

int pthread_mutex_timedlock(pthread_mutex_t* m, const timespec* until) {
    return take(
        m, access::exclusive, HF_SITE, [m] { return libc().mutex_trylock(m); },
        [=] { return libc().mutex_timedlock(m, until); }, [m] { return libc().mutex_unlock(m); });
}

int pthread_mutex_clocklock(pthread_mutex_t* m, clockid_t clock, const timespec* until) {
    return take(
        m, access::exclusive, HF_SITE, [m] { return libc().mutex_trylock(m); },
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

/// Whether the program's locks come here. Not if this library was loaded by dlopen(): the program's
/// calls are bound to the C library already. runtime::open() asks.
int hf_section_sees_locks() {
    const void* const first = ::dlsym(RTLD_DEFAULT, "pthread_mutex_lock");
    return object_of(first) == object_of(reinterpret_cast<const void*>(&in_this_object)) ? 1 : 0;
}

int hf_not_a_consistency_lock(const void* lock) { return hf::section::add_exempt(lock) ? 0 : 8; }

}  // extern "C"
