#include "epoch/gate.hpp"

#include <algorithm>
#include <cstdint>
#include <thread>

namespace hf {

/// The state word becomes closed. False: it was.
bool gate::take() noexcept {
    state seen = state_.load(std::memory_order_relaxed);
    do {
        if (seen == state::closed) return false;
    } while (!state_.compare_exchange_weak(seen, state::closed, std::memory_order_acq_rel));
    return true;
}

bool gate::close() noexcept {
    if (!take()) return false;
    drain([this] { return lanes_.used(); },
          [this](u32 i) -> const presence_flag& { return lanes_.at(i).presence; });
    return true;
}

close_attempt gate::about(close_attempt::outcome how, u32 index) const noexcept {
    return {how, index, lanes_.at(index).where.load(std::memory_order_relaxed)};
}

close_attempt gate::try_close(std::chrono::nanoseconds patience) noexcept {
    using outcome = close_attempt::outcome;
    const u32 used = lanes_.used();
    for (u32 i = 0; i < used; ++i) {
        if (lanes_.at(i).waits.load(std::memory_order_seq_cst) != 0) {
            return about(is_closed() ? outcome::taken : outcome::owed, i);
        }
    }
    const u64 deadline = now_ns() + static_cast<u64>(std::max<std::int64_t>(0, patience.count()));
    if (!take()) return {outcome::taken};
    const auto late = drain_until(
        deadline, [this] { return lanes_.used(); },
        [this](u32 i) -> const presence_flag& { return lanes_.at(i).presence; });
    if (!late) return {outcome::closed};
    const close_attempt failed = about(outcome::in_the_way, *late);  // while it is inside still
    open();
    return failed;
}

void gate::open() noexcept {
    HF_ASSERT(is_closed(), "B2: only the thread that closed a gate may open it");
    state_.store(state::open, std::memory_order_seq_cst);
    state_.notify_all();
}

// Where threads outnumber processors, who spins keeps the leader from its work.
unsigned gate::patience() const noexcept {
    static const unsigned processors = std::thread::hardware_concurrency();
    return lanes_.used() > 2 * processors + 2 ? 16 : 4096;
}

}  // namespace hf
