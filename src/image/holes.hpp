// image/holes.hpp: gives space of a region file back to the file system.
//
// Purpose. A region's space is allocated before it is used (region/region.cpp), so a copy that was
// opened to recover it takes its whole length, and pages that its heap has freed keep their old
// bytes. Both become holes here, which read as zeros. Opening a region for writing allocates its
// holes again: a store into one would end the process if the file system were full.
//
// Bad input. A file system that makes no holes keeps the space. The caller syncs.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <span>

namespace hf::detail {

/// A range of a file whose contents are not needed, in bytes.
struct spare_range {
    u64 offset;
    u64 bytes;
};

/// Frees the blocks of the spare ranges, and those that were never written. The region must not be
/// open. Returns the bytes that the file still takes. errc::busy: it is open.
[[nodiscard]] result<u64> make_holes(const std::filesystem::path& path,
                                     std::span<const spare_range> spare);

}  // namespace hf::detail
