// image/clone.hpp: copies the bytes of a file into another in the cheapest available way.
#pragma once

#include "image/copy.hpp"
#include "region/file.hpp"

#include <string>

namespace hf::detail {

struct clone_facts {
    u64 bytes = 0;
    bool shares_blocks = false;
};

/// Copies the first `bytes` bytes of `from`. Shares blocks if the file system can; otherwise
/// allocates all and copies, in the kernel if possible. `to` must be empty. Does not sync.
[[nodiscard]] result<clone_facts> clone(const file_handle& from, const std::string& from_name,
                                        const file_handle& to, const std::string& to_name,
                                        u64 bytes, const copy_progress& progress);

}  // namespace hf::detail
