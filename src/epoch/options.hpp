// epoch/options.hpp: what a session's epochs are like.
#pragma once

#include <chrono>

namespace hf {

/// How long a leader waits for the threads inside before it opens the gate again (gate.hpp,
/// try_close). Without it a leader waits as long as it takes.
struct gate_patience {
    std::chrono::nanoseconds first{0};  ///< of the first attempt; 0: no limit at all
    /// P: the time-out doubles with each failed attempt up to this.
    std::chrono::nanoseconds limit = std::chrono::milliseconds(64);
    /// For how long close() and update_super() repeat their attempts before they give an error.
    std::chrono::nanoseconds tries = std::chrono::seconds(10);
};

struct epoch_options {
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);  ///< 0: no clock
    bool durable = true;  ///< false: epochs are a grace period only (discipline transient)
    gate_patience patience{};
};

inline constexpr std::chrono::microseconds shortest_epoch = std::chrono::milliseconds(1);
inline constexpr std::chrono::microseconds longest_epoch = std::chrono::seconds(10);
inline constexpr std::chrono::microseconds no_clock{0};  ///< epochs end only on request

}  // namespace hf
