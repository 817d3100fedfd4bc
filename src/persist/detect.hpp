// persist/detect.hpp: detects the medium of a file.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include <string>

namespace hf {

/// dax if the file can be mapped with MAP_SYNC, shm on tmpfs, file on file systems of disks;
/// any other file system is refused (errc::medium) with its name. Needs a file descriptor of a
/// regular file, open for reading at least; changes nothing. eadr is never detected, since a
/// wrong guess would lose data: request it in region_options.
[[nodiscard]] result<medium_kind> detect_medium(int fd, const std::string& path);

/// The type of the file system of fd: "ext4", "tmpfs", ...; "of type 0x..." if it is unknown.
[[nodiscard]] std::string file_system_name(int fd);

}  // namespace hf
