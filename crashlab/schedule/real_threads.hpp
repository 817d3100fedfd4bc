// schedule/real_threads.hpp: real threads, also for callers on fibers.
#pragma once

#include <pthread.h>

namespace hf::lab {

/// pthread_create() and pthread_join() without interposition.
int start_real_thread(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*),
                      void* with);
int join_real_thread(pthread_t thread, void** result);

}  // namespace hf::lab
