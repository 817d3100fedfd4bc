// region/layout.hpp: every byte of a region's header (page 0 of the file).
//
//   0x0000  superblock A            4,096 bytes   identity and slow-changing state
//   0x1000  superblock B            4,096 bytes   equal to A at rest
//   0x2000  epoch record            one line      the durable epoch number
//   0x3000  root directory          64 x 64       named entry points, each a line of its own
//   0x4000  growth intent           one line      how long the file may be while it grows
//   0x5000  segment directory       4,096 x 8     what the pages after the header are used for
//   0xD000  reserved, zero          up to 64 KiB
//
// All numbers are little-endian. A page is 64 KiB. Segments follow each other from page 1 on
// without a gap, in the order of the directory. docs/on_media_format.md says the same in prose.
//
// Invariants.
//  I1 At least one superblock has a right checksum at any instant, and the valid one with the
//     larger sequence holds the state of the last finished update.
//  I2 The segments that the directory names lie inside the file, and all their pages are allocated.
//  I3 The directory's first zero word is its end; all words after it are zero.
//  I4 File size = end of the last segment, or up to the growth intent, while that is larger.
//  I5 The published roots, those whose value is not zero, come first. The other fields of a
//     free entry mean nothing.
//
// Contents of other rooms. The areas of a superblock and the values of roots are read by the rooms
//  that wrote them, whose format versions the table of rooms tells (recovery/upgrade.hpp).
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace hf::layout {

inline constexpr u64 page_size = u64{64} << 10;
inline constexpr char magic[8] = {'H', 'O', 'L', 'D', 'F', 'A', 'S', 'T'};
inline constexpr u64 byte_order_mark = 0x0102030405060708U;
/// The format of this header. 1 was never released; its number lies in the same place.
inline constexpr u16 current_format = 2;
inline constexpr unsigned max_rooms = 24;
inline constexpr unsigned epoch_area_bytes = 64;
inline constexpr unsigned discipline_area_bytes = 3328;
inline constexpr unsigned max_roots = 64;
inline constexpr unsigned max_segments = 4096;
inline constexpr unsigned max_window_bits = 48;

/// Feature bits. The region keeps its address: it is opened for writing only where
/// superblock::address is the start of its window.
inline constexpr u64 feature_keeps_address = 1;
/// The last session's image was journalled, on another medium than `file` (where it always is).
inline constexpr u64 feature_journalled = 2;
/// Those that this code knows; a file with others is refused.
inline constexpr u64 known_features = feature_keeps_address | feature_journalled;

/// The format version of a room that lays bytes into a region. An empty name: a free entry.
struct room_format {
    char name[12];  ///< at most 11 bytes, padded with zeros
    u32 version;    ///< from 1 on
    friend bool operator==(const room_format&, const room_format&) = default;
};

struct superblock {
    char magic[8];
    u64 byte_order;
    u32 bytes;       ///< of a superblock: 4,096
    u32 page_bytes;  ///< 65,536
    u16 format;      ///< of the header
    hf::discipline kind;
    medium_kind medium;  ///< it was last written under
    u8 window_bits;      ///< of the process that created it
    u8 clean;            ///< 1: closed in order; 0: in use, or its process crashed
    u16 reserved0;
    u64 features;
    u8 uuid[16];
    u64 total_pages;  ///< header and segments, at this update
    u64 generation;   ///< openings for writing
    u64 sequence;     ///< of updates; the larger is the newer copy
    std::array<room_format, max_rooms> rooms;
    u8 epoch_area[epoch_area_bytes];            ///< of the clock; zero in a new region
    u8 discipline_area[discipline_area_bytes];  ///< of the discipline; zero in a new region
    u64 address;                                ///< with feature_keeps_address; never changes
    u8 reserved1[224];
    u64 checksum;  ///< of all bytes before it
};

/// Whether the stores of the session that wrote it reached the file through a journal.
[[nodiscard]] constexpr bool is_journalled(const superblock& s) noexcept {
    return s.medium == medium_kind::file || (s.features & feature_journalled) != 0;
}
/// Sets what is_journalled() returns, and the medium.
constexpr void set_storage(superblock& s, medium_kind medium, bool is_journalled) noexcept {
    s.medium = medium;
    s.features &= ~feature_journalled;
    if (is_journalled && medium != medium_kind::file) s.features |= feature_journalled;
}

/// A room's area of the superblock.
template <class T, std::size_t N>
[[nodiscard]] T read_area(const u8 (&area)[N]) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= N);
    T t;
    std::memcpy(&t, area, sizeof t);
    return t;
}
template <class T, std::size_t N>
void write_area(u8 (&area)[N], const T& t) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= N);
    std::memcpy(area, &t, sizeof t);
}

/// Written in this order, so that PCSO makes every prefix of an advance valid; at rest both check
/// and seal belong to the epoch, and in between one of them does. With check alone, an epoch whose
/// lowest bit flipped would look like one that is just being advanced.
struct alignas(line_size) epoch_record {
    std::atomic<u64> check;
    std::atomic<u64> epoch;
    std::atomic<u64> seal;
};

/// A named entry point. It is free until its value is stored, by one store, when all else in it and
/// what it names is durable.
struct alignas(line_size) root {
    char name[24];  ///< at most 23 bytes, padded with zeros
    u64 type;
    u32 format;  ///< version of what the value leads to
    u32 reserved0;
    std::atomic<u64> value;  ///< not zero: published; then it never changes
    u64 checksum;            ///< root_checksum(); 0: published by a version without
    u64 reserved1;
};

/// Up to how many pages the file may be longer than its segments; pages = 0: not growing.
struct alignas(line_size) growth_intent {
    std::atomic<u64> pages;
    std::atomic<u64> check;
};

struct header {
    superblock super[2];
    epoch_record epoch;
    u8 reserved0[0x1000 - sizeof(epoch_record)];
    std::array<root, max_roots> roots;
    growth_intent intent;
    u8 reserved1[0x1000 - sizeof(growth_intent)];
    std::array<std::atomic<u64>, max_segments> segments;
    u8 reserved2[0x3000];
};

static_assert(std::is_trivially_copyable_v<superblock> && sizeof(superblock) == 4096);
static_assert(offsetof(superblock, byte_order) == 8);
static_assert(offsetof(superblock, format) == 24);
static_assert(offsetof(superblock, kind) == 26);
static_assert(offsetof(superblock, features) == 32);
static_assert(offsetof(superblock, uuid) == 40);
static_assert(offsetof(superblock, total_pages) == 56);
static_assert(offsetof(superblock, generation) == 64);
static_assert(offsetof(superblock, sequence) == 72);
static_assert(sizeof(room_format) == 16 && offsetof(superblock, rooms) == 80);
static_assert(offsetof(superblock, epoch_area) == 464);
static_assert(offsetof(superblock, discipline_area) == 528);
static_assert(offsetof(superblock, address) == 3856);
static_assert(offsetof(superblock, reserved1) == 3864);
static_assert(offsetof(superblock, checksum) == 4088);
static_assert(sizeof(epoch_record) == line_size && offsetof(epoch_record, epoch) == 8);
static_assert(sizeof(root) == line_size && offsetof(root, type) == 24 &&
              offsetof(root, format) == 32 && offsetof(root, value) == 40 &&
              offsetof(root, checksum) == 48);
static_assert(sizeof(growth_intent) == line_size && offsetof(growth_intent, check) == 8);
static_assert(sizeof(header) == page_size);
static_assert(offsetof(header, super) == 0x0000);
static_assert(offsetof(header, epoch) == 0x2000);
static_assert(offsetof(header, roots) == 0x3000);
static_assert(offsetof(header, intent) == 0x4000);
static_assert(offsetof(header, segments) == 0x5000);
static_assert(offsetof(header, reserved2) == 0xD000);
static_assert(std::atomic<u64>::is_always_lock_free && sizeof(std::atomic<u64>) == 8);

[[nodiscard]] u64 superblock_checksum(const superblock& s) noexcept;
/// The checksum of a root with this value, all fields included; never 0.
[[nodiscard]] u64 root_checksum(const root& r, u64 value) noexcept;

[[nodiscard]] std::string_view name_of(const room_format& r) noexcept;
/// The version that the region has of this room's bytes; 0: it has none.
[[nodiscard]] u32 version_of(const superblock& s, std::string_view room) noexcept;
/// Sets it; aborts where the table is full.
void set_version(superblock& s, const room_format& room) noexcept;

/// How far check may be ahead of the epoch, and the epoch ahead of seal.
inline constexpr u64 max_epoch_step = 8;
/// Sets the epoch, which never goes back. A larger jump than max_epoch_step (after crashes during
/// recovery, which use numbers up before the record is written) is made in steps, and a crash may
/// leave it at one of them. The caller flushes the line and fences; not before that is the epoch
/// durable.
void epoch_record_store(epoch_record& record, u64 epoch) noexcept;
/// At creation, when nothing has to be valid in between.
void epoch_record_init(epoch_record& record, u64 epoch) noexcept;
/// errc::corrupt, with the offset in the header and no file name, when the record is damaged.
[[nodiscard]] result<u64> epoch_record_load(const epoch_record& record);

/// A word of the segment directory: pages in bits 0-31, owner in 32-47, kind in 48-51, check in
/// 52-63. The check depends on the position, too, so that a word in another's place is noticed.
struct segment_word {
    u32 pages;
    u16 owner;
    u8 kind;
};
[[nodiscard]] u64 pack_segment(unsigned position, segment_word word) noexcept;
/// nullopt when the check is wrong, or it has no pages.
[[nodiscard]] std::optional<segment_word> unpack_segment(unsigned position, u64 word) noexcept;

[[nodiscard]] u64 growth_intent_check(u64 pages) noexcept;

}  // namespace hf::layout
