#include "journal/apply.hpp"

#include "journal/runs.hpp"

#include <vector>

namespace hf::journal {

result<void> apply(block_file& journal, std::span<const chunk_place> chunks,
                   const line_sink& sink) {
    std::vector<u64> runs;
    std::vector<std::byte> buffer;
    for (const chunk_place& place : chunks) {
        if (auto ok = read_runs(journal, place, runs); !ok) return ok;
        buffer.resize(place.lines * line_size);
        if (auto ok = journal.read(lines_offset(place), buffer); !ok) return ok;
        std::span<const std::byte> rest = buffer;
        for (const u64 run : runs) {
            const u64 bytes = run_count(run) * line_size;
            if (auto ok = sink(run_line(run) * line_size, rest.first(bytes)); !ok) return ok;
            rest = rest.subspan(bytes);
        }
    }
    return {};
}

}  // namespace hf::journal
