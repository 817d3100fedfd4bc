// targets/image/image_cases.hpp: regions with a journalled image on tmpfs and on persistent memory.
//
// Files. The region and the journal beside it are the lab's files 0 and 1, written by stores
// (journal/mapped_file.hpp). The region's memory is private, so it lies in a window that the lab
// does not watch.
#pragma once

#include "crashlab/targets/target.hpp"

#include <vector>

namespace hf::lab {

[[nodiscard]] const std::vector<target_description>& image_cases();

}  // namespace hf::lab
