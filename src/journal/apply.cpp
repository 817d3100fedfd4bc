#include "journal/apply.hpp"

#include "base/os_error.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace hf::journal {

namespace {

constexpr u64 batch_bytes = u64{64} << 20;
constexpr u64 longest_write = u64{256} << 10;

struct entry {
    u64 line;
    const std::byte* data;
};

/// Reads a chunk to `into`, which has room for it, and lists its lines.
result<void> read_chunk(block_file& journal, const chunk_place& place, std::byte* into,
                        std::vector<entry>& entries) {
    if (auto ok = journal.read(place.offset, {into, place.bytes()}); !ok) return ok;
    const std::byte* const runs = into + sizeof(chunk_header);
    const std::byte* data = runs + runs_bytes(place.runs);
    const std::byte* const end = into + place.bytes();
    for (u32 i = 0; i < place.runs; ++i) {
        u64 run = 0;
        std::memcpy(&run, runs + i * sizeof run, sizeof run);
        for (u64 k = 0; k < run_count(run); ++k, data += line_size) {
            if (data == end) {
                return failure({errc::corrupt, "read the journal",
                                at_offset(journal.name(), place.offset),
                                "a chunk's runs name more lines than it has",
                                "restore the region and its journal from a backup"});
            }
            entries.push_back({run_line(run) + k, data});
        }
    }
    return {};
}

/// Sorted by line, of each line the last.
void keep_newest(std::vector<entry>& entries) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](const entry& a, const entry& b) { return a.line < b.line; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const bool is_last = i + 1 == entries.size() || entries[i + 1].line != entries[i].line;
        if (is_last) entries[kept++] = entries[i];
    }
    entries.resize(kept);
}

result<void> pass_on(const std::vector<entry>& entries, const line_sink& sink) {
    std::vector<std::byte> together(longest_write);
    for (std::size_t i = 0; i < entries.size();) {
        std::size_t n = 0;
        do {
            std::memcpy(together.data() + n * line_size, entries[i + n].data, line_size);
            ++n;
        } while (i + n < entries.size() && entries[i + n].line == entries[i].line + n &&
                 n < longest_write / line_size);
        auto ok = sink(entries[i].line * line_size, std::span(together).first(n * line_size));
        if (!ok) return ok;
        i += n;
    }
    return {};
}

}  // namespace

result<void> apply(block_file& journal, std::span<const chunk_place> chunks,
                   const line_sink& sink) {
    std::vector<std::byte> bytes;
    std::vector<entry> entries;
    for (std::size_t i = 0; i < chunks.size();) {
        std::size_t n = 0;
        u64 total = 0;
        while (i + n < chunks.size() && (n == 0 || total + chunks[i + n].bytes() <= batch_bytes)) {
            total += chunks[i + n++].bytes();
        }
        if (bytes.size() < total) bytes.resize(total);
        entries.clear();
        u64 at = 0;
        for (const chunk_place& place : chunks.subspan(i, n)) {
            if (auto ok = read_chunk(journal, place, bytes.data() + at, entries); !ok) return ok;
            at += place.bytes();
        }
        keep_newest(entries);
        if (auto ok = pass_on(entries, sink); !ok) return ok;
        i += n;
    }
    return {};
}

}  // namespace hf::journal
