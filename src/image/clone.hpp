// image/clone.hpp: the bytes of one file in another, in the cheapest way that there is.
#pragma once

#include "image/copy.hpp"
#include "region/file.hpp"

#include <string>

namespace hf::detail {

struct clone_facts {
    u64 bytes = 0;
    bool shares_blocks = false;
};

/// The first `bytes` bytes of `from`. Shares the blocks where the file system can; else allocates
/// all of them and copies, in the kernel where it can. `to` is empty. Not synced.
[[nodiscard]] result<clone_facts> clone(const file_handle& from, const std::string& from_name,
                                        const file_handle& to, const std::string& to_name,
                                        u64 bytes, const copy_progress& progress);

}  // namespace hf::detail
