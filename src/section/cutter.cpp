#include "section/cutter.hpp"

#include "base/thread_name.hpp"
#include "section/inside_runtime.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace hf::section {
namespace {

/// The argument of sched_setattr(2), which the C library does not declare.
struct scheduling {
    std::uint32_t size = sizeof(scheduling);
    std::uint32_t policy = 0;  ///< SCHED_OTHER
    std::uint64_t flags = 0;
    std::int32_t nice = 0;
    std::uint32_t priority = 0;
    std::uint64_t slice_ns = 0;
    std::uint64_t deadline_ns = 0;
    std::uint64_t period_ns = 0;
};

/// The calling thread closes the gate for others. A short time slice gives it an early deadline, so
/// that it runs soon after it wakes (Linux 6.12 and later; a wish elsewhere), and its naps end when
/// they should.
void ask_to_run_soon() noexcept {
    scheduling wish;
    wish.nice = ::getpriority(PRIO_PROCESS, 0);
    wish.slice_ns = 100'000;
    ::syscall(SYS_sched_setattr, 0, &wish, 0);
    ::prctl(PR_SET_TIMERSLACK, 1000UL);
}

}  // namespace

using std::chrono::nanoseconds;

void cutter::start(const cutter_pace& pace, std::function<needs()> ask, attempt cut) {
    stopping_ = false;
    thread_ = std::thread([this, pace, ask = std::move(ask), cut = std::move(cut)] {
        belong_to_runtime();
        name_this_thread("hf-cutter");
        ask_to_run_soon();
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
