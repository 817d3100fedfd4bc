// journal/apply.hpp: passes on what records hold, line by line.
#pragma once

#include "journal/ring.hpp"

#include <functional>
#include <span>

namespace hf::journal {

/// Called with neighbouring lines: the first one's offset in the region, in bytes, and their bytes.
using line_sink = std::function<result<void>(u64 offset, std::span<const std::byte> bytes)>;

/// Passes on every run of lines of the chunks, in their order: of a line that occurs several times
/// the last content is passed on last. For a file there is merge.hpp.
[[nodiscard]] result<void> apply(block_file& journal, std::span<const chunk_place> chunks,
                                 const line_sink& sink);

}  // namespace hf::journal
