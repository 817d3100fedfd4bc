#include "epoch/gate.hpp"

#include <thread>

namespace hf {

bool gate::close() noexcept {
    state seen = state_.load(std::memory_order_relaxed);
    do {
        if (seen == state::closed) return false;
    } while (!state_.compare_exchange_weak(seen, state::closed, std::memory_order_acq_rel));
    drain([this] { return lanes_.used(); },
          [this](u32 i) -> const presence_flag& { return lanes_.at(i).presence; });
    return true;
}

void gate::open() noexcept {
    HF_ASSERT(is_closed(), "B2: only the thread that closed a gate may open it");
    state_.store(state::open, std::memory_order_release);
    state_.notify_all();
}

// Where threads outnumber processors, who spins keeps the leader from its work.
unsigned gate::patience() const noexcept {
    static const unsigned processors = std::thread::hardware_concurrency();
    return lanes_.used() > 2 * processors + 2 ? 16 : 4096;
}

}  // namespace hf
