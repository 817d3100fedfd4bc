// journal/runs.hpp: the lines that a chunk contains.
#pragma once

#include "journal/ring.hpp"

#include <vector>

namespace hf::journal {

/// Reads the chunk's runs, packed (format.hpp). errc::corrupt if they have more lines than the
/// chunk.
[[nodiscard]] result<void> read_runs(block_file& journal, const chunk_place& place,
                                     std::vector<u64>& into);

/// The offset of its first line in the journal.
[[nodiscard]] inline u64 lines_offset(const chunk_place& place) noexcept {
    return place.offset + sizeof(chunk_header) + runs_bytes(place.runs);
}

}  // namespace hf::journal
