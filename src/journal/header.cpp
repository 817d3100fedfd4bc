#include "journal/header.hpp"

#include "base/os_error.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace hf::journal {

namespace {

u64 checksum_of(const header_slot& s) {
    constexpr std::size_t from = offsetof(header_slot, version);
    return checksum64(reinterpret_cast<const std::byte*>(&s) + from, sizeof s - from, header_magic);
}

}  // namespace

result<void> write_header(block_file& file, const header_facts& facts) {
    alignas(8) std::array<std::byte, page> bytes{};
    header_slot s{};
    s.magic = header_magic;
    s.version = format_version;
    s.region = facts.who.region;
    s.generation = facts.who.generation;
    s.segment_bytes = facts.segment_bytes;
    s.serial = facts.serial;
    s.base_epoch = facts.base_epoch;
    s.oldest = facts.oldest;
    s.segments = facts.segments;
    s.checksum = checksum_of(s);
    std::memcpy(bytes.data(), &s, sizeof s);
    return file.write((facts.serial % 2) * page, bytes);
}

result<header_facts> read_header(block_file& file) {
    std::vector<header_slot> valid;
    for (const u64 offset : {u64{0}, page}) {
        header_slot s{};
        auto read = file.read(offset, std::as_writable_bytes(std::span(&s, 1)));
        if (!read) return tl::unexpected(read.error());
        if (s.magic == header_magic && s.checksum == checksum_of(s)) valid.push_back(s);
    }
    const auto newest = std::ranges::max_element(
        valid, {}, [](const header_slot& s) { return std::pair(s.generation, s.serial); });
    if (newest == valid.end()) {
        return failure({errc::corrupt, "read the journal", at_offset(file.name(), 0),
                        "neither slot of its header is valid",
                        "restore the region and its journal from a backup"});
    }
    if (newest->version != format_version) {
        return failure({errc::incompatible, "read the journal", file.name(),
                        "it has format version " + std::to_string(newest->version) +
                            ", this program knows " + std::to_string(format_version),
                        "open the region with the Holdfast that wrote it"});
    }
    const u64 bytes = newest->segment_bytes;
    if (bytes == 0 || bytes % page != 0 || bytes > max_segment_bytes) {
        return failure({errc::corrupt, "read the journal", at_offset(file.name(), 0),
                        "its header holds impossible values",
                        "restore the region and its journal from a backup"});
    }
    return header_facts{{newest->region, newest->generation},
                        bytes,
                        newest->serial,
                        newest->base_epoch,
                        newest->oldest,
                        newest->segments};
}

}  // namespace hf::journal
