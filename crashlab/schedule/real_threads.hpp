// schedule/real_threads.hpp: threads of the kernel, whoever asks for them.
#pragma once

#include <pthread.h>

namespace hf::lab {

/// pthread_create() and pthread_join() as they are without the lab.
int start_real_thread(pthread_t* thread, const pthread_attr_t* how, void* (*work)(void*),
                      void* with);
int join_real_thread(pthread_t thread, void** result);

}  // namespace hf::lab
