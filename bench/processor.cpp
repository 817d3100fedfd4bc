#include "bench/processor.hpp"

#include "base/clock.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <thread>

namespace hf::bench {

std::vector<int> usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cores;
    if (::sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
    for (int c = 0; c < CPU_SETSIZE; ++c) {
        if (CPU_ISSET(c, &set)) cores.push_back(c);
    }
    return cores;
}

bool pin_to_core(int core) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return ::sched_setaffinity(0, sizeof(set), &set) == 0;
}

double ns_per_tick() {
    static const double measured = [] {
        const u64 t0 = now_ns();
        const u64 c0 = ticks();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const u64 c1 = ticks();
        const u64 t1 = now_ns();
        return static_cast<double>(t1 - t0) / static_cast<double>(c1 - c0);
    }();
    return measured;
}

u64 thread_cpu_ns() noexcept {
    std::timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<u64>(t.tv_sec) * 1'000'000'000U + static_cast<u64>(t.tv_nsec);
}

u64 thread_preemptions() noexcept {
    struct rusage use{};
    ::getrusage(RUSAGE_THREAD, &use);
    return static_cast<u64>(use.ru_nivcsw);
}

namespace {

std::atomic<bool> signalled{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void on_signal(int) { signalled.store(true, std::memory_order_relaxed); }

constexpr std::array caught = {SIGINT, SIGTERM};
std::array<struct sigaction, caught.size()> handlers_before;

}  // namespace

bool interrupted() noexcept { return signalled.load(std::memory_order_relaxed); }

interruptible::interruptible() noexcept {
    struct sigaction handler{};
    handler.sa_handler = on_signal;
    handler.sa_flags = static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < caught.size(); ++i) {
        ::sigaction(caught[i], &handler, &handlers_before[i]);
    }
}

interruptible::~interruptible() {
    for (std::size_t i = 0; i < caught.size(); ++i) {
        ::sigaction(caught[i], &handlers_before[i], nullptr);
    }
}

}  // namespace hf::bench
