#include "server/durability_waiter.hpp"

#include "base/thread_name.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hf::detail {

namespace {
constexpr auto retry_after = std::chrono::milliseconds(100);
}

durability_waiter::durability_waiter(store& records, on_durable durable, on_failure failed)
    : records_(records), durable_(std::move(durable)), failed_(std::move(failed)) {
    thread_ = std::thread([this] {
        name_this_thread("hf-durable");
        run();
    });
}

void durability_waiter::want(ticket t) {
    {
        const std::lock_guard lock(mutex_);
        wanted_ = std::max(wanted_, t);
    }
    changed_.notify_one();
}

void durability_waiter::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void durability_waiter::run() {
    ticket reported = 0;
    for (;;) {
        ticket newest = 0;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [&] { return stopping_ || wanted_ > reported; });
            if (stopping_) {
                return;
            }
            newest = wanted_;
        }
        if (const auto waited = records_.wait_durable(newest)) {
            reported = newest;
            durable_(newest);
        } else if (waited.error().code == errc::no_space) {
            // A full disk may get space again: answers and data wait.
            std::unique_lock lock(mutex_);
            changed_.wait_for(lock, retry_after, [&] { return stopping_; });
        } else {
            return failed_(waited.error());
        }
    }
}

}  // namespace hf::detail
