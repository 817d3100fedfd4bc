// epoch/options.hpp: what a session's epochs are like.
#pragma once

#include <chrono>

namespace hf {

struct epoch_options {
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);  ///< 0: no clock
    bool durable = true;  ///< false: epochs are a grace period only (discipline transient)
};

inline constexpr std::chrono::microseconds shortest_epoch = std::chrono::milliseconds(1);
inline constexpr std::chrono::microseconds longest_epoch = std::chrono::seconds(10);
inline constexpr std::chrono::microseconds no_clock{0};  ///< epochs end when they are told to

}  // namespace hf
