// damage/trial.hpp: checks, opens and uses a damaged region; its answers must be right.
//
// For any damage: no crash, no hang, and no wrong answer. Wrong is a value other than the last one,
// or a removed key. An error is allowed if the region is damaged. A missing key is allowed if
// check() reports damage: reads cannot detect that.
//
// Results of an eager region, and of a header with right checksums, are not judged: no checksum on
// the medium detects a word with an older value or zero, and a write may spread damage.
#pragma once

#include "damage/victim.hpp"

#include <filesystem>
#include <functional>

namespace hf::damage_test {

struct seen {
    bool sound = false;    ///< check() found nothing
    bool refused = false;  ///< open() failed
    u64 operations = 0;
    u64 errors = 0;   ///< operations that reported damage
    u64 missing = 0;  ///< keys that were not found, in a region for which check() reports damage
};

/// Called before each step with its name; false: stop.
using sign_of_life = std::function<bool(const char* doing)>;

/// Throws `wrong`. `is_judged`: not for damage that no checksum can tell of.
[[nodiscard]] seen try_out(const std::filesystem::path& file, const victim& v, u64 seed,
                           const sign_of_life& alive = {}, bool is_judged = true);

}  // namespace hf::damage_test
