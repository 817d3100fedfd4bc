#include "section/gate.hpp"

#include "base/clock.hpp"

namespace hf::section {
namespace {

/// False: the flag is still up at `deadline_ns`.
bool wait_until_down(const presence_flag& flag, u64 deadline_ns) noexcept {
    backoff pause;
    while (flag.is_up()) {
        if (now_ns() >= deadline_ns) return false;
        pause.wait();
    }
    return true;
}

}  // namespace

void gate::wait_open() noexcept {
    constexpr unsigned spins = 200;
    for (unsigned i = 0; i < spins; ++i) {
        if (closed_.load(std::memory_order_acquire) == 0) return;
        cpu_relax();
    }
    while (closed_.load(std::memory_order_acquire) != 0) closed_.wait(1, std::memory_order_acquire);
}

void gate::wait_and_enter(thread_record& r, const void* site) noexcept {
    waiting_.fetch_add(1, std::memory_order_acq_rel);
    do wait_open();
    while (!try_enter(r, site));
    waiting_.fetch_sub(1, std::memory_order_acq_rel);
}

bool gate::try_close(u64 patience_ns) noexcept {
    backoff pause;
    while (waiting() != 0) pause.wait();  // S3; the gate is open
    closed_.store(1, std::memory_order_release);
    heavy_fence();
    const u64 deadline = now_ns() + patience_ns;
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
    HF_ASSERT(closed_.load(std::memory_order_relaxed) != 0, "S2: an open gate is opened");
    closed_.store(0, std::memory_order_release);
    closed_.notify_all();
}

}  // namespace hf::section
