// journal/apply.hpp: passes on the lines that records contain.
#pragma once

#include "journal/ring.hpp"

#include <functional>
#include <span>

namespace hf::journal {

/// Called with adjacent lines: the first one's byte offset in the region, and their bytes.
using line_sink = std::function<result<void>(u64 offset, std::span<const std::byte> bytes)>;

/// Passes on every run of lines of the chunks, in order: the last content of a line that occurs
/// several times is passed on last. merge.hpp does this for a file.
[[nodiscard]] result<void> apply(block_file& journal, std::span<const chunk_place> chunks,
                                 const line_sink& sink);

}  // namespace hf::journal
