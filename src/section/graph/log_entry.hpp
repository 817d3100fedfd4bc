// section/graph/log_entry.hpp: bytes of the log that undoes sections.
//
// A lane's log is a segment of kind section_log that the lane owns. Page 0 begins with the lane's
// head; the ring of entries follows from the segment's second line.
//
//   line 0   | kept 8 | position 8 |                       each with a check in its top 16 bits
//   line 1.. | entry 32 | entry 32 | ...
//
//   entry    | check 4 | kind 1 | size 1 | unfenced 2 | clock 8 | a 8 | b 8 |
//
//   kind      a                      b                     meaning
//   begin     section number         0                     a section of this lane begins
//   store     offset in the region   old bytes             `size` bytes, 1 to 8, before a store
//   depends   lane                   section number        the section depends on that one
//   end       section number         0                     the section has completed
//
// The segment of owner 0 belongs to no lane: its first word is the session's number, again with a
// check. Entries of another session mean nothing.
//
// Invariants.
//  E1  An entry's check covers the entry, its position, its lane, the session and the region's id.
//      A position is never used twice in a session, so an entry of an earlier lap is not valid.
//  E2  `unfenced` counts the entries right before this one that were not known to be durable when
//      it was written. A valid entry that says so of fewer entries than lie between it and an
//      invalid one proves that the invalid one is damaged: it had been durable.
#pragma once

#include "base/bits.hpp"
#include "base/checksum.hpp"

#include <array>
#include <optional>

namespace hf::graph {

enum class entry_kind : u8 { begin = 1, store = 2, depends = 3, end = 4 };

struct log_entry {
    u32 check = 0;
    entry_kind kind = entry_kind::begin;
    u8 size = 0;
    u16 unfenced = 0;
    u64 clock = 0;  ///< Lamport's, of the lane: later for what happens later (lock_table.hpp)
    u64 a = 0;
    u64 b = 0;
};
static_assert(sizeof(log_entry) == 32);

inline constexpr u64 entry_bytes = sizeof(log_entry);
inline constexpr u64 max_unfenced = 0xFFFF;
inline constexpr u64 max_store_bytes = 8;

/// Inputs of an entry's check besides the entry itself.
struct log_identity {
    u64 region = 0;   ///< region_seed()
    u64 session = 0;  ///< number
    u32 lane = 0;
};

[[nodiscard]] inline u32 entry_check(const log_entry& e, const log_identity& of,
                                     u64 position) noexcept {
    const u64 seed = of.region ^ (of.session << 24) ^ (u64{of.lane} << 8);
    const std::array<u64, 5> words{
        position, u64{e.unfenced} << 16 | u64{e.size} << 8 | static_cast<u64>(e.kind), e.clock, e.a,
        e.b};
    const auto sum = static_cast<u32>(checksum64(words.data(), sizeof words, seed));
    return sum != 0 ? sum : 1;  // a zeroed segment holds no entry
}

/// A number of at most 48 bits with a check of 16, for words that are stored at once.
[[nodiscard]] inline u64 pack_checked(u64 number, u64 seed) noexcept {
    return number | checksum64(&number, sizeof number, seed) << 48;
}
/// nullopt: the check is wrong.
[[nodiscard]] inline std::optional<u64> unpack_checked(u64 word, u64 seed) noexcept {
    const u64 number = word & ((u64{1} << 48) - 1);
    if (pack_checked(number, seed) != word) return std::nullopt;
    return number;
}

}  // namespace hf::graph
