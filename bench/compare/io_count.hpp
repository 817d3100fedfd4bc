// bench/compare/io_count.hpp: the bytes that this process has written to storage.
//
// The kernel's count (write_bytes of /proc/self/io), which treats all writes alike: pages of files
// when they become dirty, by write() or through a mapping, and direct writes. Pages of tmpfs do not
// count.
#pragma once

#include "base/bits.hpp"

#include <filesystem>
#include <string>

namespace hf::bench {

/// Bytes since the process started; 0 if the kernel does not report them.
[[nodiscard]] u64 written_to_storage();

/// File system and device of a directory: "ext4 on /dev/vda".
[[nodiscard]] std::string disk_of(const std::filesystem::path& directory);

/// Bytes that the files of a directory occupy.
[[nodiscard]] u64 occupied_bytes(const std::filesystem::path& directory);

}  // namespace hf::bench
