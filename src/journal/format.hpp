// journal/format.hpp: every byte of a redo journal.
//
//   0x0000  header slot 0   one sector, rest of the page zero
//   0x1000  header slot 1   the one with the larger serial counts
//   0x2000  segment 0 | segment 1 | ...          segment_bytes each, a multiple of 4,096
//
// A segment is a sequence of chunks, each on a 4,096-byte boundary, so that writing one never
// touches a sector of another. A chunk:
//
//   | header 64 bytes | runs, 8 bytes each, padded to 64 | lines, 64 bytes each |
//
// A record is the state of all lines that changed in one epoch. It consists of one or more chunks,
// which may be in several segments. Records are numbered from 1 in each session. All numbers are
// little-endian.
//
// Invariants.
//  F1 A chunk's checksum covers everything after the checksum, and is seeded with the region's UUID
//     and the session's generation: no chunk of another region, or of an earlier session, is valid.
//  F2 A record counts if all its chunks are valid.
//  F3 The header's position is that of the oldest chunk that recovery needs; all before it are
//     durable in the base file.
//  F4 Header and chunks contain the durable number of the file's segments at the time they were
//     written. A file that was truncated, at any length, is shorter than some header or chunk in it
//     says (ring.hpp), and is refused unless what it lacks was never used.
#pragma once

#include "base/bits.hpp"
#include "base/checksum.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <type_traits>

namespace hf::journal {

inline constexpr u64 page = 4096;
inline constexpr u64 first_segment = 2 * page;
inline constexpr u64 chunk_magic = 0x4b4e55484a464848U;   // "HHFJHUNK"
inline constexpr u64 header_magic = 0x4c414e524a464848U;  // "HHFJRNAL"
inline constexpr u32 format_version = 1;
inline constexpr u64 max_segment_bytes = u64{1} << 30;

/// Locks: a process that uses a region locks the bytes of its files below this offset. The byte at
/// this offset is the journal's copy_gate.
inline constexpr u64 gate_offset = u64{1} << 62;

using uuid = std::array<u8, 16>;

/// The session to which a journal belongs.
struct identity {
    uuid region{};
    u64 generation = 0;  ///< of the session that writes it
    friend bool operator==(const identity&, const identity&) = default;
};

/// A chunk's place in the sequence of all chunks of a session.
struct position {
    u64 record = 1;
    u64 chunk = 0;
    friend auto operator<=>(const position&, const position&) = default;
};

struct header_slot {
    u64 magic;
    u64 checksum;  ///< of all bytes after it
    u32 version;
    u32 reserved0;
    uuid region;
    u64 generation;
    u64 segment_bytes;
    u64 serial;      ///< number of header updates in the session
    u64 base_epoch;  ///< the base file contains all epochs up to this one
    position oldest;
    u64 segments;  ///< the file had at least this number
    u64 reserved1;
};

struct chunk_header {
    u64 magic;
    u64 checksum;  ///< of all bytes after it: header, runs, lines
    u64 record;
    u64 epoch;   ///< the record is the state at the end of this epoch
    u32 number;  ///< of this chunk in its record, from 0
    u32 count;   ///< chunks in the record
    u32 runs;
    u32 lines;
    u64 segments;  ///< the file had at least this number
    u64 reserved;
};

static_assert(sizeof(header_slot) == 104 && offsetof(header_slot, checksum) == 8);
static_assert(sizeof(chunk_header) == line_size && offsetof(chunk_header, checksum) == 8);
static_assert(std::is_trivially_copyable_v<header_slot> &&
              std::is_trivially_copyable_v<chunk_header>);

/// A run of adjacent lines: the first one's number in bits 16-63, their count in bits 0-15.
inline constexpr u64 max_run = 0xFFFF;
[[nodiscard]] constexpr u64 pack_run(u64 line, u64 count) noexcept { return line << 16 | count; }
[[nodiscard]] constexpr u64 run_line(u64 run) noexcept { return run >> 16; }
[[nodiscard]] constexpr u64 run_count(u64 run) noexcept { return run & max_run; }

/// Bytes of a chunk, including the padding after the runs.
[[nodiscard]] constexpr u64 runs_bytes(u64 runs) noexcept {
    return align_up(runs * sizeof(u64), line_size);
}
[[nodiscard]] constexpr u64 chunk_bytes(u64 runs, u64 lines) noexcept {
    return sizeof(chunk_header) + runs_bytes(runs) + lines * line_size;
}

[[nodiscard]] inline u64 seed_of(const identity& who) noexcept {
    return checksum64(who.region.data(), who.region.size(), who.generation ^ chunk_magic);
}

}  // namespace hf::journal
