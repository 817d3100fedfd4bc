#include "journal/apply.hpp"

#include "base/os_error.hpp"

#include <cstring>
#include <vector>

namespace hf::journal {

namespace {

result<void> pass_on(const block_file& journal, const chunk_place& place,
                     std::span<const std::byte> chunk, const line_sink& sink) {
    const std::byte* const runs = chunk.data() + sizeof(chunk_header);
    std::span<const std::byte> data = chunk.subspan(sizeof(chunk_header) + runs_bytes(place.runs));
    for (u32 i = 0; i < place.runs; ++i) {
        u64 run = 0;
        std::memcpy(&run, runs + i * sizeof run, sizeof run);
        const u64 bytes = run_count(run) * line_size;
        if (bytes > data.size()) {
            return failure({errc::corrupt, "read the journal",
                            at_offset(journal.name(), place.offset),
                            "a chunk's runs name more lines than it has",
                            "restore the region and its journal from a backup"});
        }
        if (auto ok = sink(run_line(run) * line_size, data.first(bytes)); !ok) return ok;
        data = data.subspan(bytes);
    }
    return {};
}

}  // namespace

result<void> apply(block_file& journal, std::span<const chunk_place> chunks,
                   const line_sink& sink) {
    std::vector<std::byte> buffer;
    for (const chunk_place& place : chunks) {
        if (buffer.size() < place.bytes()) buffer.resize(place.bytes());
        const std::span bytes = std::span(buffer).first(place.bytes());
        if (auto ok = journal.read(place.offset, bytes); !ok) return ok;
        if (auto ok = pass_on(journal, place, bytes, sink); !ok) return ok;
    }
    return {};
}

}  // namespace hf::journal
