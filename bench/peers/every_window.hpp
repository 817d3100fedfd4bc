// bench/peers/every_window.hpp: a thread that does some work once in every window, such as a sync.
//
// If the work takes longer than the window, it restarts at once, so the store lags by at most the
// window plus the duration of the work. The first error ends the thread.
#pragma once

#include <holdfast/result.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace hf::bench {

class every_window {
   public:
    using clock = std::chrono::steady_clock;

    every_window(std::chrono::microseconds window, std::function<result<void>()> work)
        : window_(window), work_(std::move(work)) {}
    ~every_window() { (void)stop(); }
    every_window(const every_window&) = delete;
    every_window& operator=(const every_window&) = delete;

    void start() {
        if (thread_.joinable()) return;
        stopping_ = false;
        thread_ = std::thread([this] { run(); });
    }

    /// Returns when the thread has ended, with the error that ended it, if any.
    [[nodiscard]] result<void> stop() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        if (thread_.joinable()) thread_.join();
        if (failed_) return tl::unexpected(*failed_);
        return {};
    }

    [[nodiscard]] std::uint64_t times() const noexcept { return times_.load(); }
    /// Microseconds spent on the work.
    [[nodiscard]] std::uint64_t busy_us() const noexcept { return busy_us_.load(); }

   private:
    void run() {
        auto next = clock::now() + window_;
        std::unique_lock lock(mutex_);
        while (!wake_.wait_until(lock, next, [this] { return stopping_; })) {
            lock.unlock();
            const auto from = clock::now();
            auto done = work_();
            const auto to = clock::now();
            busy_us_ += static_cast<std::uint64_t>(
                std::chrono::duration_cast<std::chrono::microseconds>(to - from).count());
            ++times_;
            lock.lock();
            if (!done) {
                failed_ = done.error();
                return;
            }
            next = std::max(next + window_, to);
        }
    }

    std::chrono::microseconds window_;
    std::function<result<void>()> work_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    std::optional<error> failed_;
    std::atomic<std::uint64_t> times_{0};
    std::atomic<std::uint64_t> busy_us_{0};
    std::thread thread_;
};

}  // namespace hf::bench
