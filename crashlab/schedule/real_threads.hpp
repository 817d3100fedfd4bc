// schedule/real_threads.hpp: kernel threads, also for callers that are fibers.
#pragma once

#include <pthread.h>

namespace hf::lab {

/// The original pthread_create() and pthread_join(), not interposed.
int start_real_thread(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*),
                      void* with);
int join_real_thread(pthread_t thread, void** result);

}  // namespace hf::lab
