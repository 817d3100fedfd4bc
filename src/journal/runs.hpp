// journal/runs.hpp: which lines a chunk holds.
#pragma once

#include "journal/ring.hpp"

#include <vector>

namespace hf::journal {

/// The chunk's runs, packed (format.hpp). errc::corrupt when they name more lines than it has.
[[nodiscard]] result<void> read_runs(block_file& journal, const chunk_place& place,
                                     std::vector<u64>& into);

/// Where its lines begin in the journal.
[[nodiscard]] inline u64 lines_offset(const chunk_place& place) noexcept {
    return place.offset + sizeof(chunk_header) + runs_bytes(place.runs);
}

}  // namespace hf::journal
