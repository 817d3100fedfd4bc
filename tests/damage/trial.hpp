// damage/trial.hpp: a region that was damaged is checked, opened and used, and must never lie.
//
// Whatever was done to it: no crash, no hang, and no answer that is wrong. Wrong is another value
// than the last one, and a key that was removed. An error is right, if something is damaged; a key
// that is not found is, if the check says that something is damaged: reads can't notice that.
//
// What is read from an eager region is not judged: a word that became an older one, or zero, is no
// damage that anything on the medium tells of, and a write may spread what is damaged.
#pragma once

#include "damage/victim.hpp"

#include <filesystem>
#include <functional>

namespace hf::damage_test {

struct seen {
    bool sound = false;    ///< the check found nothing
    bool refused = false;  ///< an opening did
    u64 operations = 0;
    u64 errors = 0;   ///< operations that told of damage
    u64 missing = 0;  ///< keys that were not found, of a region that the check calls damaged
};

/// Called with what is about to be done; false: it has seen enough.
using sign_of_life = std::function<bool(const char* doing)>;

/// Throws `wrong`.
[[nodiscard]] seen try_out(const std::filesystem::path& file, const victim& v, u64 seed,
                           const sign_of_life& alive = {});

}  // namespace hf::damage_test
