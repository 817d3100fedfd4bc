// image/clone.hpp: copies a file in the cheapest way that the file system offers.
#pragma once

#include "image/copy.hpp"
#include "region/file.hpp"

#include <string>

namespace hf::detail {

struct clone_facts {
    u64 bytes = 0;
    bool shares_blocks = false;
};

/// Copies the first `bytes` bytes of `from`. Shares the blocks if the file system can; otherwise
/// allocates and copies the ranges that hold data, in the kernel if it can. Holes of `from`, and
/// space that was allocated but never written, are holes of `to`. `to` is empty. Does not sync.
[[nodiscard]] result<clone_facts> clone(const file_handle& from, const std::string& from_name,
                                        const file_handle& to, const std::string& to_name,
                                        u64 bytes, const copy_progress& progress);

}  // namespace hf::detail
