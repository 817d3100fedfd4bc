// section/signal_mutex.hpp: a mutex that a signal handler may take.
//
// Its holder has all signals blocked, so no handler runs in the thread that holds it and then waits
// for it without end. A caller must not wait for anything else while it holds the mutex.
#pragma once

#include <pthread.h>

#include <csignal>
#include <mutex>

namespace hf::section {

class signal_mutex {
   public:
    void lock() {
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        mutex_.lock();
        before_ = before;
    }
    void unlock() {
        const sigset_t before = before_;
        mutex_.unlock();
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

   private:
    std::mutex mutex_;
    sigset_t before_{};  ///< the holder's mask
};

}  // namespace hf::section
