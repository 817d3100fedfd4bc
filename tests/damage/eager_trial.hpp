// damage/eager_trial.hpp: an eager index that was damaged is written to, and must come to an end.
//
// Whatever was done to it: no crash, no hang, and no lock that is held when the operation is over
// that took it. Each operation ends with a result, or with an error that names the damage. Results
// are not judged, as in trial.hpp.
//
// The index is used without a map: so batches are tried, numbers as keys, and openings without a
// sweep, which end what is random. The same seed does the same to the same nodes in each run.
#pragma once

#include "damage/trial.hpp"

#include <string>

namespace hf::damage_test {

struct eager_recipe {
    u64 seed;
    bool crashes;
    std::string index;
    std::string keys;  ///< "bytes" or "integers"
    u64 names = 700;   ///< keys that come and go
    unsigned steps = 1200;
};

/// Makes it in `file`, which holds it then, undamaged.
[[nodiscard]] victim make_eager_victim(image_file& file, const eager_recipe& how);

/// Throws what is no error of a damaged region.
[[nodiscard]] seen try_out_eager(const std::filesystem::path& file, const victim& v, u64 seed,
                                 const sign_of_life& alive = {});

}  // namespace hf::damage_test
