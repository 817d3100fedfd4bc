// bench/heap/own_rival.hpp: Holdfast's heap with the interface of its rivals.
#pragma once

#include <holdfast/options.hpp>

#include "bench/peers/object_rival.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace hf::bench {

struct own_options {
    /// variant: "redo", "undo", or "nodur": no durability, in ordinary memory
    object_options common;
    std::optional<medium_kind> medium;
    std::chrono::milliseconds epoch{64};
};

/// Thread-safe, unlike its rivals. Throws std::runtime_error.
[[nodiscard]] std::unique_ptr<object_rival> open_own(const own_options& options);

/// Nanoseconds for a step from one object to the next, by pointers of the heap and by ordinary
/// pointers, over lists of the same length and order.
struct chase_times {
    double heap = 0;
    double raw = 0;
};
[[nodiscard]] chase_times measure_chase(const own_options& options, std::uint64_t steps);

/// Runs a child process that is killed after this number of commits in one epoch; then opens the
/// heap.
struct opening_times {
    double ms = 0;
    std::uint64_t records = 0;  ///< found in the log
};
[[nodiscard]] opening_times measure_opening(const own_options& options, std::uint64_t commits);

}  // namespace hf::bench
