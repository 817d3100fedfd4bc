// bench/compare/io_count.hpp: what this process has caused to be written to storage.
//
// The kernel's count (write_bytes of /proc/self/io), the same for everything in the process: pages
// of files as they become dirty, by write() or through a mapping, and direct writes. Pages of tmpfs
// are never written and do not count.
#pragma once

#include "base/bits.hpp"

#include <filesystem>
#include <string>

namespace hf::bench {

/// Bytes since the process began; 0 where the kernel does not say.
[[nodiscard]] u64 written_to_storage();

/// File system and device that a directory lies on: "ext4 on /dev/vda".
[[nodiscard]] std::string disk_of(const std::filesystem::path& directory);

/// Bytes that the files of a directory occupy.
[[nodiscard]] u64 occupied_bytes(const std::filesystem::path& directory);

}  // namespace hf::bench
