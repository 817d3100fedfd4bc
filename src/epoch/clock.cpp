#include "epoch/clock.hpp"

#include "base/check.hpp"
#include "base/thread_name.hpp"

#include <utility>

namespace hf {

void epoch_clock::start(tick every) {
    HF_CHECK(!thread_.joinable(), "an epoch clock is started once");
    thread_ = std::thread([this, every = std::move(every)] {
        name_this_thread("hf-clock");
        run(every);
    });
}

void epoch_clock::wake() {
    {
        const std::lock_guard guard(mutex_);
        woken_ = true;
    }
    wake_.notify_all();
}

void epoch_clock::stop() {
    {
        const std::lock_guard guard(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void epoch_clock::run(const tick& every) {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        lock.unlock();
        const auto nap = every();
        lock.lock();
        if (nap.count() > 0) wake_.wait_for(lock, nap, [this] { return stopping_ || woken_; });
        woken_ = false;
    }
}

}  // namespace hf
