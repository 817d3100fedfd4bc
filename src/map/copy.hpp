// map/copy.hpp: a copy of a region, ready for use.
//
// Purpose. The image of image/copy.hpp, recovered and closed in order under a temporary name, with
//  an identity of its own; then it gets its name. A copy is another region: from here on both may
//  be written, and no journal fits both.
#pragma once

#include "image/copy.hpp"

namespace hf {

/// `replace`: an existing region at `to` that nobody uses is replaced.
[[nodiscard]] result<detail::image_facts> copy_store(const std::filesystem::path& from,
                                                     const std::filesystem::path& to,
                                                     bool replace = false,
                                                     const detail::copy_progress& progress = {});

}  // namespace hf
