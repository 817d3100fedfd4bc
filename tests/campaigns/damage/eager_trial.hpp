// damage/eager_trial.hpp: writes to a damaged eager index; every operation must end.
//
// For any damage: no crash, no hang, and no lock that is held after the operation that took it.
// Each operation ends with a result, or with an error that names the damage. Results are not
// judged, as in trial.hpp.
//
// The index is used without a map, so that batches, integer keys and open() without a sweep can be
// tried, which avoids random timing: the same seed does the same to the same nodes in each run.
#pragma once

#include "damage/trial.hpp"

#include <string>

namespace hf::damage_test {

struct eager_recipe {
    u64 seed;
    bool crashes;
    std::string index;
    std::string keys;  ///< "bytes" or "integers"
    u64 names = 700;   ///< number of keys that are inserted and removed
    unsigned steps = 1200;
};

/// Makes the victim in `file`, which then contains it, undamaged.
[[nodiscard]] victim make_eager_victim(image_file& file, const eager_recipe& how);

/// Throws exceptions that are not errors of a damaged region.
[[nodiscard]] seen try_out_eager(const std::filesystem::path& file, const victim& v, u64 seed,
                                 const sign_of_life& alive = {});

}  // namespace hf::damage_test
