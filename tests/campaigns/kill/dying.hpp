// tests/campaigns/kill/dying.hpp: sessions that kill themselves at a persist point.
#pragma once

#include "journal.hpp"

namespace hf::kill_test {

/// Whether this build has persist points at which a process can be killed.
[[nodiscard]] bool has_persist_points() noexcept;

/// From here on this process kills itself at its n-th persist point (0: never) and records the
/// point in `session`. Other threads may be delayed at persist points, so that unusual
/// interleavings occur.
void stop_at_points(session_state& session, u32 n);

}  // namespace hf::kill_test
