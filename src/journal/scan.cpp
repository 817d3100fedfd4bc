#include "journal/scan.hpp"

#include "base/os_error.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace hf::journal {

namespace {

constexpr const char* reading = "read the journal";

tl::unexpected<error> damaged(const block_file& file, u64 offset, std::string why) {
    return failure({errc::corrupt, reading, at_offset(file.name(), offset), std::move(why),
                    "restore the region and its journal from a backup"});
}

/// The header at `offset`, if it looks like that of a chunk that fits into `room` bytes.
result<std::optional<chunk_place>> look_at(block_file& file, u64 offset, u64 room,
                                           chunk_header& h) {
    if (auto ok = file.read(offset, std::as_writable_bytes(std::span(&h, 1))); !ok) {
        return tl::unexpected(ok.error());
    }
    if (h.magic != chunk_magic || h.number >= h.count) return std::nullopt;
    const chunk_place place{offset, h.epoch, {h.record, h.number}, h.count, h.runs, h.lines, 0};
    return place.bytes() > room ? std::nullopt : std::optional(place);
}

/// One past the last line of the runs; 0: they are empty, or do not match the number of lines.
u64 end_of(std::span<const std::byte> runs, u64 lines) {
    u64 end = 0;
    u64 named = 0;
    for (; !runs.empty(); runs = runs.subspan(sizeof(u64))) {
        u64 run = 0;
        std::memcpy(&run, runs.data(), sizeof run);
        if (run_count(run) == 0) return 0;
        named += run_count(run);
        end = std::max(end, run_line(run) + run_count(run));
    }
    return named == lines ? end : 0;
}

/// Whether the chunk is complete, and of this session.
result<bool> is_valid(block_file& file, chunk_place& place, const chunk_header& h, u64 seed,
                      std::vector<std::byte>& buffer) {
    buffer.resize(std::max<u64>(buffer.size(), place.bytes()));
    const std::span bytes = std::span(buffer).first(place.bytes());
    if (auto ok = file.read(place.offset, bytes); !ok) return tl::unexpected(ok.error());
    constexpr std::size_t from = offsetof(chunk_header, record);
    if (checksum64(bytes.data() + from, bytes.size() - from, seed) != h.checksum) return false;
    place.end_line = end_of(bytes.subspan(sizeof h, place.runs * sizeof(u64)), place.lines);
    return place.end_line != 0;
}

/// Whether no segment past the end of a file of `bytes` was ever used. While none was given up,
/// they were opened in the order of their places (R4), each to hold a chunk. So if the first one
/// without a chunk is in the file, or its first line is, and holds none, then no later one does.
result<bool> misses_only_unused(block_file& file, const header_facts& header, u64 bytes,
                                const std::vector<chunk_place>& found) {
    if (header.oldest != position{}) return false;
    u64 used = 0;
    for (const chunk_place& c : found) {
        used = std::max(used, (c.offset - first_segment) / header.segment_bytes + 1);
    }
    const u64 next = first_segment + used * header.segment_bytes;
    if (bytes < next + page) return false;
    chunk_header h{};
    if (auto ok = file.read(next, std::as_writable_bytes(std::span(&h, 1))); !ok) {
        return tl::unexpected(ok.error());
    }
    return h.magic != chunk_magic;
}

/// Refuses a file that is shorter than the header or a chunk says (F4), unless only unused space is
/// missing. It may be longer, because it grows first.
result<void> check_length(block_file& file, const header_facts& header, u64 segments,
                          const std::vector<chunk_place>& found) {
    const auto bytes = file.size();
    if (!bytes) return tl::unexpected(bytes.error());
    const u64 has = (std::max(*bytes, first_segment) - first_segment) / header.segment_bytes;
    if (has >= segments) return {};
    const auto harmless = misses_only_unused(file, header, *bytes, found);
    if (!harmless) return tl::unexpected(harmless.error());
    if (*harmless) return {};
    return damaged(file, *bytes,
                   "its end is missing: " + std::to_string(has) + " of " +
                       std::to_string(segments) + " segments of " +
                       std::to_string(header.segment_bytes) + " bytes are there");
}

// Lists the valid chunks from the header's position on. Older chunks count only towards the minimum
// file length. Only the first line of most pages is read, so the cost of a scan depends on the
// journal's contents.
result<std::vector<chunk_place>> find_chunks(block_file& file, const header_facts& header) {
    std::vector<chunk_place> found;
    u64 segments = header.segments;
    const auto bytes = file.size();
    if (!bytes) return tl::unexpected(bytes.error());
    const u64 seed = seed_of(header.who);
    const u64 length = header.segment_bytes;
    std::vector<std::byte> buffer;
    for (u64 start = first_segment; start + length <= *bytes; start += length) {
        for (u64 at = 0; at < length;) {
            chunk_header h{};
            auto place = look_at(file, start + at, length - at, h);
            if (!place) return tl::unexpected(place.error());
            u64 covered = 1;
            if (*place) {
                auto valid = is_valid(file, **place, h, seed, buffer);
                if (!valid) return tl::unexpected(valid.error());
                if (*valid) {
                    covered = (*place)->bytes();
                    if ((*place)->at >= header.oldest) found.push_back(**place);
                    segments = std::max(segments, h.segments);
                }
            }
            at = align_up(at + covered, page);
        }
    }
    if (auto ok = check_length(file, header, segments, found); !ok)
        return tl::unexpected(ok.error());
    return found;
}

result<std::vector<chunk_place>> chunks_in_order(block_file& file, const header_facts& header) {
    auto found = find_chunks(file, header);
    if (!found) return found;
    std::ranges::sort(*found, {}, &chunk_place::at);
    return found;
}

/// Returns the complete records up to the first gap. `under_way`: the newest record that may have
/// been incomplete; all before it must be there. 0: that is the one at the gap.
result<history> up_to_the_gap(const block_file& file, const header_facts& header,
                              std::vector<chunk_place> found, u64 under_way) {
    position expected = header.oldest;
    std::size_t complete = 0;
    u64 gap = first_segment;  // or in a later segment
    for (std::size_t i = 0; i < found.size() && found[i].at == expected; ++i) {
        expected = found[i].next();
        gap = align_up(found[i].offset + found[i].bytes(), page);
        if (expected.chunk == 0) complete = i + 1;
    }
    const u64 missing = complete == 0 ? header.oldest.record : found[complete - 1].at.record + 1;
    if (complete == 0 && header.oldest.chunk != 0) {
        return damaged(file, gap,
                       "record " + std::to_string(missing) + " is damaged, which was complete");
    }
    if (under_way == 0) under_way = found.empty() ? missing : found.back().at.record;
    if (under_way > missing) {
        const auto later =
            std::find_if(found.begin() + static_cast<std::ptrdiff_t>(complete), found.end(),
                         [missing](const chunk_place& c) { return c.at.record > missing; });
        return damaged(file, gap,
                       "record " + std::to_string(missing) + " is damaged: later ones are there" +
                           (later == found.end()
                                ? ""
                                : ", record " + std::to_string(later->at.record) + " among them"));
    }
    found.resize(complete);
    history h{header, std::move(found), 0};
    if (complete != 0) h.last_epoch = h.chunks.back().epoch;
    return h;
}

}  // namespace

result<history> scan(block_file& file) {
    auto header = read_header(file);
    if (!header) return tl::unexpected(header.error());
    auto found = chunks_in_order(file, *header);
    if (!found) return tl::unexpected(found.error());
    return up_to_the_gap(file, *header, std::move(*found), 0);
}

result<history> scan_live(block_file& file) {
    auto header = read_header(file);
    if (!header) return tl::unexpected(header.error());
    auto before = chunks_in_order(file, *header);
    if (!before) return tl::unexpected(before.error());
    auto found = chunks_in_order(file, *header);
    if (!found) return tl::unexpected(found.error());
    const u64 begun = before->empty() ? header->oldest.record : before->back().at.record;
    return up_to_the_gap(file, *header, std::move(*found), begun);
}

}  // namespace hf::journal
