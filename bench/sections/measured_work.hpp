// bench/sections/measured_work.hpp: one run of a workload in one way.
#pragma once

#include "bench/sections/options.hpp"
#include "bench/sections/ways.hpp"

#include <string>

namespace hf::bench {

enum class work_way : u8 { original, announced, paged, synced };

struct work_size {
    unsigned threads = 1;
    u64 operations = 0;  ///< all threads together; for dedup megabytes of input
};

/// Makes the workload, while the group is open if the way needs one, or while a synced_memory
/// exists, and runs it. Returns nanoseconds, without the making.
[[nodiscard]] u64 run_work(const std::string& work, work_way way, const work_size& size);
/// Counts the stores and sections of the original.
[[nodiscard]] work_counts count_work(const std::string& work, const work_size& size);

}  // namespace hf::bench
