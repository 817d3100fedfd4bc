// clock.hpp: the thread that sees to it that epochs end.
//
// It calls one function again and again, and sleeps in between for as long as that says.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace hf {

class epoch_clock {
   public:
    /// Returns after how long it wants to be called again.
    using tick = std::function<std::chrono::nanoseconds()>;

    epoch_clock() = default;
    epoch_clock(const epoch_clock&) = delete;
    epoch_clock& operator=(const epoch_clock&) = delete;
    ~epoch_clock() { stop(); }

    /// Once.
    void start(tick every);
    /// The next call follows at once, whatever the last one said.
    void wake();
    /// Returns when no call is under way, and none will come. May be repeated.
    void stop();

   private:
    void run(const tick& every);

    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    bool woken_ = false;
    std::thread thread_;
};

}  // namespace hf
