#include "section/cutter.hpp"

#include "base/thread_name.hpp"
#include "section/inside_runtime.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace hf::section {

using std::chrono::nanoseconds;

void cutter::start(const cutter_pace& pace, std::function<needs()> ask, attempt cut) {
    stopping_ = false;
    thread_ = std::thread([this, pace, ask = std::move(ask), cut = std::move(cut)] {
        belong_to_runtime();
        name_this_thread("hf-cutter");
        run(pace, ask, cut);
    });
}

void cutter::stop() {
    {
        const std::lock_guard guard(mutex_);
        stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void cutter::hurry() {
    {
        const std::lock_guard guard(mutex_);
        hurried_ = true;
    }
    wake_.notify_all();
}

void cutter::run(const cutter_pace& pace, const std::function<needs()>& ask, const attempt& cut) {
    cut_pace next(pace);
    u64 nap = pace.period_ns;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        // In short naps, since a log can fill within one long one.
        for (u64 slept = 0; slept < nap && !stopping_ && !hurried_; slept += pace.look_ns) {
            wake_.wait_for(lock, nanoseconds(std::min(nap - slept, pace.look_ns)));
            if (ask().urgent) break;
        }
        if (stopping_) return;
        const bool hurried = std::exchange(hurried_, false);
        const needs now = ask();
        if (!hurried && !now.cut && !now.urgent) continue;
        lock.unlock();
        const cut_outcome how = cut(now.urgent ? pace.max_patience_ns : next.patience());
        nap = next.after(how);
        lock.lock();
        if (how != cut_outcome::cut && hurried) hurried_ = false;
    }
}

}  // namespace hf::section
