// tests/campaigns/kill/session.hpp: the functions that run in the killed processes.
#pragma once

#include <holdfast/options.hpp>

#include "journal.hpp"
#include "keys.hpp"
#include "value.hpp"

#include <chrono>
#include <filesystem>

namespace hf::kill_test {

struct session_plan {
    std::filesystem::path region;
    u32 number = 0;  ///< session number, counted for each region
    u64 seed = 0;
    map_options options;
    u64 started_at_ns = 0;
    bool stops_at_points = false;  ///< threads may be delayed at persist points
    u32 die_at_point = 0;          ///< the process kills itself at its n-th persist point; 0: never
};

/// Opens the map and runs the writers until the process is killed or asked to close. Returns the
/// exit status.
[[nodiscard]] int work(const session_plan& plan, journal& record, const key_set& keys,
                       const value_maker& values);

/// Opens the map, records its contents, and waits to be killed or asked to close. In mode inspect
/// it reads a private copy, closes, and ends by itself.
[[nodiscard]] int look(const session_plan& plan, journal& record, const key_set& keys);

/// Audits heap and index in a private copy of the region, and ends by itself.
[[nodiscard]] int audit(const session_plan& plan, journal& record);

}  // namespace hf::kill_test
