// tools/machine/disk_image.hpp: files of the host that are disks of the guest.
#pragma once

#include <holdfast/result.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

namespace hf::machine {

/// Makes a sparse file with an empty file system, "ext4" or "xfs". Replaces an existing file.
[[nodiscard]] result<void> make_disk(const std::filesystem::path& image, std::uint64_t bytes,
                                     const std::string& file_system);

/// Preserves holes. Replaces an existing file.
[[nodiscard]] result<void> copy_disk(const std::filesystem::path& from,
                                     const std::filesystem::path& to);

}  // namespace hf::machine
