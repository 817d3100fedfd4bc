// journal/apply.hpp: brings what records hold to where it belongs.
#pragma once

#include "journal/ring.hpp"

#include <functional>
#include <span>

namespace hf::journal {

/// Called with neighbouring lines: the first one's offset in the region, in bytes, and their bytes.
using line_sink = std::function<result<void>(u64 offset, std::span<const std::byte> bytes)>;

/// Of each line in `chunks`, which are in order, the newest content: passed on once, by ascending
/// offset. The chunks are read in batches of up to 64 MiB, oldest first; a line that occurs in
/// several batches is passed on for each.
[[nodiscard]] result<void> apply(block_file& journal, std::span<const chunk_place> chunks,
                                 const line_sink& sink);

}  // namespace hf::journal
