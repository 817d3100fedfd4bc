// persist/detect.hpp: which medium a file lies on.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include <string>

namespace hf {

/// dax when the file can be mapped with MAP_SYNC, shm on tmpfs, file on the file systems of disks;
/// every other file system is refused (errc::medium) with its name. Needs a file descriptor of a
/// regular file, open for reading at least; changes nothing. eadr is never found by itself, since a
/// wrong guess would lose data: ask for it in region_options.
[[nodiscard]] result<medium_kind> detect_medium(int fd, const std::string& path);

/// The type of the file system that holds fd: "ext4", "tmpfs", ...; "of type 0x..." when it is not
/// in the table.
[[nodiscard]] std::string file_system_name(int fd);

}  // namespace hf
