// bench/heap/own_rival.hpp: Holdfast's heap behind the interface of its rivals.
#pragma once

#include <holdfast/options.hpp>

#include "bench/peers/object_rival.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace hf::bench {

struct own_options {
    object_options common;  ///< variant: an engine's name, or "nodur": the same in ordinary memory
    std::optional<medium_kind> medium;
    std::chrono::milliseconds epoch{64};
};

/// May be used by several threads, unlike its rivals. Throws std::runtime_error.
[[nodiscard]] std::unique_ptr<object_rival> open_own(const own_options& options);

/// Nanoseconds that a step from one object to the next takes, by pointers of the heap, and by
/// ordinary ones, over lists of so many that lie in the same order.
struct chase_times {
    double heap = 0;
    double raw = 0;
};
[[nodiscard]] chase_times measure_chase(const own_options& options, std::uint64_t steps);

/// In a process of its own, which is killed behind so many commits of one epoch; then opens it.
struct opening_times {
    double ms = 0;
    std::uint64_t records = 0;  ///< of the log, that it found
};
[[nodiscard]] opening_times measure_opening(const own_options& options, std::uint64_t commits);

}  // namespace hf::bench
