#include "journal/runs.hpp"

#include "base/os_error.hpp"

#include <numeric>

namespace hf::journal {

result<void> read_runs(block_file& journal, const chunk_place& place, std::vector<u64>& into) {
    into.resize(place.runs);
    const auto bytes = std::as_writable_bytes(std::span(into));
    if (auto ok = journal.read(place.offset + sizeof(chunk_header), bytes); !ok) return ok;
    const u64 named = std::accumulate(into.begin(), into.end(), u64{0},
                                      [](u64 sum, u64 run) { return sum + run_count(run); });
    if (named <= place.lines) return {};
    return failure({errc::corrupt, "read the journal", at_offset(journal.name(), place.offset),
                    "a chunk's runs name more lines than it has",
                    "restore the region and its journal from a backup"});
}

}  // namespace hf::journal
