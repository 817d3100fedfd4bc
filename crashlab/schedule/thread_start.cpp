// Interposed thread start and join: a thread that a fiber starts is a fiber, too.
#include "crashlab/schedule/fibers.hpp"
#include "crashlab/schedule/real_threads.hpp"

#include <dlfcn.h>

namespace hf::lab {

int start_real_thread(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*),
                      void* with) {
    static const auto real =
        reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return real(thread, how, work, with);
}

int join_real_thread(pthread_t thread, void** result) {
    static const auto real =
        reinterpret_cast<decltype(&pthread_join)>(::dlsym(RTLD_NEXT, "pthread_join"));
    return real(thread, result);
}

}  // namespace hf::lab

// NOLINTBEGIN: the names are libc's.
extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*),
                   void* with) noexcept {
    if (!hf::lab::on_fiber()) return hf::lab::start_real_thread(thread, how, work, with);
    *thread = hf::lab::start_fiber([work, with] { static_cast<void>(work(with)); });
    return 0;
}

int pthread_join(pthread_t thread, void** result) {
    if (hf::lab::on_fiber() && hf::lab::join_fiber(thread)) {
        if (result != nullptr) *result = nullptr;
        return 0;
    }
    return hf::lab::join_real_thread(thread, result);
}

}  // extern "C"
// NOLINTEND
