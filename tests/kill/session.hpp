// tests/kill/session.hpp: what runs in the processes that are killed.
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
    u32 number = 0;  ///< of the session, in the life of the region
    u64 seed = 0;
    map_options options;
    u64 started_at_ns = 0;
    bool stops_at_points = false;  ///< a thread that comes to a persist point may be held up there
    u32 die_at_point = 0;  ///< the process kills itself at its n-th persist point; 0: it does not
};

/// Opens the map and lets the writers loose until it is killed or told to close. Exit status.
[[nodiscard]] int work(const session_plan& plan, journal& record, const key_set& keys,
                       const value_maker& values);

/// Opens the map, notes all that is in it, and waits to be killed or told to close. In mode inspect
/// it looks at a private copy, closes, and ends by itself.
[[nodiscard]] int look(const session_plan& plan, journal& record, const key_set& keys);

/// Has the audits of heap and index walk a private copy of the region, and ends by itself.
[[nodiscard]] int audit(const session_plan& plan, journal& record);

}  // namespace hf::kill_test
