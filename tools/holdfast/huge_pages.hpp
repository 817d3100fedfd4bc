// tools/holdfast/huge_pages.hpp: finds out whether regions in a directory get huge pages, and how
// to get them.
#pragma once

#include "mounts.hpp"

#include <optional>
#include <string>

namespace hf::tool {

struct huge_page_facts {
    std::string anonymous;        ///< /sys/kernel/mm/transparent_hugepage/enabled, as chosen
    std::string shared;           ///< .../shmem_enabled
    std::string mount;            ///< the mount's huge= option; empty where it has none
    std::optional<bool> granted;  ///< the result of a trial; nullopt: the trial failed
    bool on_request = false;      ///< refused at first, granted by MADV_COLLAPSE
    std::string advice;           ///< how to get them; empty when a region there has them
};

/// Maps four megabytes of `fd`, an unnamed empty file, as a region is mapped, and reads
/// the result; then requests huge pages like a region on tmpfs (region/huge_pages.hpp). fd < 0: no
/// trial.
[[nodiscard]] huge_page_facts find_huge_pages(int fd, const std::optional<mount_facts>& mount);

}  // namespace hf::tool
