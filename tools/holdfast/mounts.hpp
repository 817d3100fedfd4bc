// tools/holdfast/mounts.hpp: the kernel's description of the file system of a path.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace hf::tool {

struct mount_facts {
    std::string point;    ///< where it is mounted
    std::string type;     ///< "tmpfs"
    std::string options;  ///< of the mount and of the file system, "rw,huge=advise"
    /// The value of an option; empty for one without; nullopt when it is not set.
    [[nodiscard]] std::optional<std::string> option(const std::string& name) const;
};

/// The first mount of a device, as in struct stat; nullopt when /proc does not tell.
[[nodiscard]] std::optional<mount_facts> mount_of_device(dev_t device);

/// The first line of a file in /proc or /sys; empty when it cannot be read.
[[nodiscard]] std::string first_line_of(const std::string& path);
/// "always [madvise] never" -> "madvise"
[[nodiscard]] std::string chosen_of(const std::string& choices);

}  // namespace hf::tool
