// map/copy.hpp: makes a copy of a region that is ready for use.
//
// Purpose. Takes the image of image/copy.hpp, recovers it under a temporary name, closes it
// cleanly, gives it an identity of its own, and renames it. The copy is a different region: both
// may be written from then on, and the journal of one does not fit the other.
#pragma once

#include "image/copy.hpp"

namespace hf {

/// `replace`: replaces an existing region at `to`, which must not be open.
[[nodiscard]] result<detail::image_facts> copy_store(const std::filesystem::path& from,
                                                     const std::filesystem::path& to,
                                                     bool replace = false,
                                                     const detail::copy_progress& progress = {});

}  // namespace hf
