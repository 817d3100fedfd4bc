// tools/holdfast/verbs/salvage_copy.hpp: copies the sound records of a damaged region that is in
// use.
#pragma once

#include "dump/dump.hpp"
#include "image/copy.hpp"

#include <string>

namespace hf::tool {

/// Copies `from` as it is, and makes the region `to` from the copy's sound records, by way of a
/// dump. Both intermediate files, TO.image and TO.dump, must not exist, and are removed. The report
/// lists the damage. errc::incompatible: `from` is not of discipline incll.
[[nodiscard]] result<salvage_report> copy_sound_records(const std::string& from,
                                                        const std::string& to, bool replace,
                                                        const detail::copy_progress& progress);

}  // namespace hf::tool
