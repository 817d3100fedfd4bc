#include "section/gate.hpp"

#include "base/clock.hpp"

#include <ctime>

namespace hf::section {
namespace {

/// False: the flag is still up at `deadline_ns`. After some microseconds the leader sleeps instead
/// of yielding: on a busy machine sched_yield() gives each runnable thread its time slice first,
/// some milliseconds, and the gate would be closed all that time.
bool wait_until_down(const presence_flag& flag, u64 deadline_ns) noexcept {
    constexpr std::timespec moment{0, 20'000};
    constexpr unsigned spins = 256;
    for (unsigned i = 0; flag.is_up(); ++i) {
        if (now_ns() >= deadline_ns) return false;
        if (i < spins) {
            cpu_relax();
        } else {
            ::nanosleep(&moment, nullptr);
        }
    }
    return true;
}

}  // namespace

void gate::wait_open() noexcept {
    constexpr unsigned spins = 200;
    for (unsigned i = 0; i < spins; ++i) {
        if (state_.load(std::memory_order_acquire) != closed_state) return;
        cpu_relax();
    }
    while (state_.load(std::memory_order_acquire) == closed_state) {
        state_.wait(closed_state, std::memory_order_acquire);
    }
}

void gate::wait_and_enter(thread_record& r, const void* site) noexcept {
    constexpr std::timespec moment{0, 1'000'000};
    waiting_.fetch_add(1, std::memory_order_acq_rel);
    const u64 until = now_ns() + max_hold_ns;
    for (;;) {
        wait_open();
        if (try_enter(r, site)) break;
        if (state_.load(std::memory_order_acquire) != held_state) continue;
        if (now_ns() < until) {
            ::nanosleep(&moment, nullptr);
            continue;
        }
        // Held for long enough: only a closed gate keeps the thread out.
        r.presence.enter();
        if (state_.load(std::memory_order_acquire) != closed_state) break;
        r.presence.leave();
    }
    waiting_.fetch_sub(1, std::memory_order_acq_rel);
}

void gate::hold() noexcept {
    u32 expected = open_state;
    state_.compare_exchange_strong(expected, held_state, std::memory_order_acq_rel);
}

bool gate::try_close(u64 patience_ns) noexcept {
    backoff pause;
    while (waiting() != 0 && state_.load(std::memory_order_acquire) == open_state)
        pause.wait();  // S3
    last_.closed_ns = now_ns();
    state_.store(closed_state, std::memory_order_release);
    heavy_fence();
    const u64 deadline = last_.closed_ns + patience_ns;
    const u32 n = threads_.used();
    for (u32 i = 0; i < n; ++i) {
        if (wait_until_down(threads_.at(i).presence, deadline)) continue;
        in_the_way_.store(&threads_.at(i), std::memory_order_release);
        open();
        return false;
    }
    return true;
}

void gate::open() noexcept {
    HF_ASSERT(state_.load(std::memory_order_relaxed) == closed_state, "S2: an open gate is opened");
    last_.opened_ns = now_ns();
    state_.store(open_state, std::memory_order_release);
    state_.notify_all();
}

}  // namespace hf::section
