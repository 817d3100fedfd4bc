// tests/kill/observer.hpp: looks at everything in a map that was opened after a kill.
//
// What it notes in the journal is for the judge. It complains itself where the map contradicts
// itself: gets against scans, scans forward against scans backward, bounds of scans.
#pragma once

#include <holdfast/map.hpp>

#include "journal.hpp"
#include "keys.hpp"

namespace hf::kill_test {

/// Nothing else may be at work on the map. `seed` chooses the bounds of the partial scans.
void observe(const map& target, journal& record, const key_set& keys, u64 seed);

}  // namespace hf::kill_test
