// hf::section::mutex (holdfast/section.hpp).
#include <holdfast/section.hpp>

#include "base/clock.hpp"
#include "sync/spin_lock.hpp"

#include <unistd.h>

namespace hf::section {

/// Even, and not zero.
std::uint64_t mutex::session() noexcept {
    static const std::uint64_t number = [] {
        const u64 mixed = now_ns() * 0x9e3779b97f4a7c15U + static_cast<u64>(::getpid());
        return (mixed | 2) & ~std::uint64_t{1};
    }();
    return number;
}

pthread_mutex_t* mutex::ready() noexcept {
    const std::uint64_t mine = session();
    std::uint64_t seen = session_.load(std::memory_order_acquire);
    backoff pause;
    while (seen != mine) {
        if (seen == mine + 1) {  // another thread is making it
            pause.wait();
            seen = session_.load(std::memory_order_acquire);
            continue;
        }
        if (!session_.compare_exchange_strong(seen, mine + 1, std::memory_order_acq_rel)) continue;
        ::new (static_cast<void*>(&mutex_)) pthread_mutex_t PTHREAD_MUTEX_INITIALIZER;
        session_.store(mine, std::memory_order_release);
        break;
    }
    return &mutex_;
}

}  // namespace hf::section
