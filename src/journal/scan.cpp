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

/// The chunk at the start of `bytes`, which end with its segment.
std::optional<chunk_place> chunk_at(std::span<const std::byte> bytes, u64 offset, u64 seed) {
    chunk_header h{};
    if (bytes.size() < sizeof h) return std::nullopt;
    std::memcpy(&h, bytes.data(), sizeof h);
    if (h.magic != chunk_magic || h.runs > h.lines || h.number >= h.count) return std::nullopt;
    const chunk_place place{offset, h.epoch, {h.record, h.number}, h.count, h.runs, h.lines};
    if (h.lines == 0 || place.bytes() > bytes.size()) return std::nullopt;
    constexpr std::size_t from = offsetof(chunk_header, record);
    if (checksum64(bytes.data() + from, place.bytes() - from, seed) != h.checksum) {
        return std::nullopt;
    }
    return place;
}

result<void> find_chunks(block_file& file, const header_facts& header,
                         std::vector<chunk_place>& found) {
    const auto bytes = file.size();
    if (!bytes) return tl::unexpected(bytes.error());
    const u64 seed = seed_of(header.who);
    const u64 length = header.segment_bytes;
    std::vector<std::byte> segment(length);
    for (u64 start = first_segment; start + length <= *bytes; start += length) {
        if (auto ok = file.read(start, segment); !ok) return ok;
        for (u64 at = 0; at < length;) {
            const auto place = chunk_at(std::span(segment).subspan(at), start + at, seed);
            if (place) found.push_back(*place);
            at = align_up(at + (place ? place->bytes() : 1), page);
        }
    }
    return {};
}

}  // namespace

result<history> scan(block_file& file) {
    auto header = read_header(file);
    if (!header) return tl::unexpected(header.error());
    history h{*header, {}, 0};
    std::vector<chunk_place> found;
    if (auto ok = find_chunks(file, *header, found); !ok) return tl::unexpected(ok.error());
    std::erase_if(found, [&](const chunk_place& c) { return c.at < header->oldest; });
    std::sort(found.begin(), found.end(),
              [](const chunk_place& a, const chunk_place& b) { return a.at < b.at; });
    position expected = header->oldest;
    std::size_t complete = 0;
    for (std::size_t i = 0; i < found.size() && found[i].at == expected; ++i) {
        expected = found[i].next();
        if (expected.chunk == 0) complete = i + 1;
    }
    const u64 under_way = complete == 0 ? header->oldest.record : found[complete - 1].at.record + 1;
    if (complete == 0 && header->oldest.chunk != 0) {
        return damaged(file, first_segment,
                       "record " + std::to_string(under_way) + " is damaged, which was complete");
    }
    for (std::size_t i = complete; i < found.size(); ++i) {
        if (found[i].at.record > under_way) {
            return damaged(file, found[i].offset,
                           "record " + std::to_string(under_way) +
                               " is damaged: later ones are there, record " +
                               std::to_string(found[i].at.record) + " among them");
        }
    }
    found.resize(complete);
    if (complete != 0) h.last_epoch = found.back().epoch;
    h.chunks = std::move(found);
    return h;
}

}  // namespace hf::journal
