// map/copy.hpp: makes a copy of a map, or of a snapshot, that is ready for use
// (image/ready_copy.hpp).
#pragma once

#include "alloc/audit.hpp"
#include "image/copy.hpp"
#include "image/holes.hpp"

#include <vector>

namespace hf {

/// The free pages of a heap, which a copy of its region need not store.
[[nodiscard]] std::vector<detail::spare_range> spare_ranges_of(const heap_figures& heap);

/// `replace`: replaces an existing region at `to`, which must not be open.
[[nodiscard]] result<detail::image_facts> copy_store(const std::filesystem::path& from,
                                                     const std::filesystem::path& to,
                                                     bool replace = false,
                                                     const detail::copy_progress& progress = {});

/// copy_store() to a new file, without the audit at its end: the copy may be damaged. A step of a
/// salvage, which reads the copy and not the region in use.
[[nodiscard]] result<detail::image_facts> copy_unverified(
    const std::filesystem::path& from, const std::filesystem::path& to,
    const detail::copy_progress& progress = {});

}  // namespace hf
