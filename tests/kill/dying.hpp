// tests/kill/dying.hpp: a session that ends itself at a persist point.
#pragma once

#include "journal.hpp"

namespace hf::kill_test {

/// Whether this build has persist points at which a process can end.
[[nodiscard]] bool has_persist_points() noexcept;

/// From here on this process kills itself at its n-th persist point (0: at none) and says in
/// `session` at which; threads that come to others may be held up there: what another thread does
/// meanwhile may be what nobody has thought of.
void stop_at_points(session_state& session, u32 n);

}  // namespace hf::kill_test
