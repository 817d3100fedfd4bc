#include "epoch/boundary.hpp"

#include <thread>

namespace hf {

// NOLINTNEXTLINE(performance-unnecessary-value-param): others keep it.
result<void> boundary::start(u64, announcer) { return {}; }

// Group commit without a disk to wait for: who comes within this time after a boundary shares the
// next one.
void boundary::let_gather(const std::function<bool()>&, std::chrono::nanoseconds since) {
    constexpr auto shortest_gap = std::chrono::microseconds(100);
    if (since < shortest_gap) std::this_thread::sleep_for(shortest_gap - since);
}

}  // namespace hf
