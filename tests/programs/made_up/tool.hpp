// tests/programs/made_up/tool.hpp: the counter on the command line.
#pragma once

namespace made_up {

/// Adds the row of the command line's table. Call after register_discipline().
void register_verbs();

}  // namespace made_up
