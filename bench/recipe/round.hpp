// bench/recipe/round.hpp: the measured loop of `holdfast bench recipe`: threads, each pinned to a
// core, start together; the clock stops when the last has ended and its writes are durable.
#pragma once

#include "bench/recipe/store.hpp"

namespace hf::bench {

struct recipe_round {
    u64 operations = 0;
    u64 scanned = 0;  ///< records visited by scans
    double seconds = 0;
    double cpu_seconds = 0;  ///< of the threads
    u64 flushes = 0;         ///< lines, of this process; a peer's are not counted
    u64 fences = 0;
    u64 flushed_bytes = 0;
    u64 streamed_bytes = 0;

    [[nodiscard]] double mops() const noexcept {
        return seconds > 0 ? static_cast<double>(operations) / seconds / 1e6 : 0;
    }
    [[nodiscard]] double per_operation(u64 count) const noexcept {
        return operations > 0 ? static_cast<double>(count) / static_cast<double>(operations) : 0;
    }
};

/// The error is the first of any thread; a wrong or missing record is errc::violation.
[[nodiscard]] result<recipe_round> run_recipe_round(recipe_store& s,
                                                    const std::vector<recipe_work>& work);

}  // namespace hf::bench
