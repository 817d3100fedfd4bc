// Loaded before a foreign program (LD_PRELOAD): gives each thread that locks a mutex a slot, as the
// runtime of sections does, and says at the end how many slots there are.
#include "sync/thread_slots.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>

namespace {

hf::thread_slots<hf::u64>& slots() {
    static auto* all =
        new hf::thread_slots<hf::u64>(0, 64, [](hf::u32) { return std::make_unique<hf::u64>(0); });
    return *all;
}

thread_local bool is_busy = false;  // the slots' own locks come here as well

[[gnu::destructor]] void say() {
    std::printf("; slots used: %u\n", slots().used());
    std::fflush(stdout);
}

}  // namespace

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static auto* const next =
        reinterpret_cast<int (*)(pthread_mutex_t*)>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    if (!is_busy) {
        is_busy = true;
        ++slots().mine();
        is_busy = false;
    }
    return next(mutex);
}
