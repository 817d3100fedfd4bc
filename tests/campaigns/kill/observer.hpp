// tests/campaigns/kill/observer.hpp: reads everything in a map that was opened after a kill.
//
// It records the found states in the journal for the judge. It reports contradictions within the
// map itself: gets against scans, scans forward against scans backward, bounds of scans.
#pragma once

#include <holdfast/map.hpp>

#include "journal.hpp"
#include "keys.hpp"

namespace hf::kill_test {

/// No other operation may run on the map. `seed` selects the bounds of the partial scans.
void observe(const map& target, journal& record, const key_set& keys, u64 seed);

}  // namespace hf::kill_test
