// tools/holdfast/huge_pages.hpp: whether regions in a directory get huge pages, and how to enable
// them.
#pragma once

#include "mounts.hpp"

#include <optional>
#include <string>

namespace hf::tool {

struct huge_page_facts {
    /// the selected value of /sys/kernel/mm/transparent_hugepage/enabled
    std::string anonymous;
    std::string shared;           ///< of .../shmem_enabled
    std::string mount;            ///< the mount's huge= option; empty if it has none
    std::optional<bool> granted;  ///< result of a trial; nullopt: no trial was possible
    bool on_request = false;      ///< refused at first, granted by MADV_COLLAPSE
    std::string advice;           ///< how to enable them; empty if a region there has them
};

/// Maps 4 MiB of `fd`, an empty unnamed file, as a region is mapped, and checks whether huge pages
/// were used; if not, requests them as a region on tmpfs does (region/huge_pages.hpp). fd < 0: no
/// trial.
[[nodiscard]] huge_page_facts find_huge_pages(int fd, const std::optional<mount_facts>& mount);

}  // namespace hf::tool
