// shadow/journal_record.hpp: the record of one commit in the journal (rules.hpp).
//
//   | sequence, 40 bits; count, 24 bits | checksum | page | mask | value | page | mask | value |...
//   0                                   8          16                    40
//
// A record begins at a line, so that a commit flushes each line of the journal once. One changed
// page, or two, take one line. Sequence numbers are consecutive and never 0: the record that a
// longer, older one leaves after the newest is not taken for its successor. The checksum covers
// everything else in the record: it decides whether the record is whole, with one fence for all of
// its lines (shadow P2).
//
// The changed bits are written, not flipped, so replaying a record twice is harmless; and a record
// names only the lines of its own commit, so two commits that change different lines of one page
// may reach the journal in any order.
#pragma once

#include "base/bits.hpp"
#include "base/check.hpp"
#include "base/checksum.hpp"
#include "shadow/bitmaps.hpp"

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>

namespace hf::shadow {

inline constexpr std::size_t record_head_bytes = 16;
inline constexpr std::size_t change_bytes = 24;
static_assert(sizeof(page_change) == change_bytes);

inline constexpr unsigned sequence_bits = 40;
inline constexpr u64 max_sequence = (u64{1} << sequence_bits) - 1;
inline constexpr u64 max_changes = (u64{1} << (64 - sequence_bits)) - 1;

/// Bytes of the record of a commit that changes `changes` pages.
[[nodiscard]] constexpr u64 record_bytes(u64 changes) noexcept {
    return record_head_bytes + changes * change_bytes;
}
/// Lines that such a commit flushes in the journal.
[[nodiscard]] constexpr u64 record_lines(u64 changes) noexcept {
    return (record_bytes(changes) + line_size - 1) / line_size;
}
/// The sequence number after `n`.
[[nodiscard]] constexpr u64 next_sequence(u64 n) noexcept { return n == max_sequence ? 1 : n + 1; }

namespace detail {
[[nodiscard]] inline u64 record_checksum(u64 head, const void* changes,
                                         std::size_t bytes) noexcept {
    return checksum64(changes, bytes, head);
}
}  // namespace detail

/// Writes the record of a commit to `to`, which has record_bytes(changes.size()) bytes. Flushes
/// nothing. At most max_changes changes, one a page; `sequence` is in [1, max_sequence].
inline void write_record(std::byte* to, u64 sequence,
                         std::span<const page_change> changes) noexcept {
    HF_ASSERT(sequence != 0 && sequence <= max_sequence, "a sequence number is out of range");
    HF_ASSERT(changes.size() <= max_changes, "a commit changes more pages than a record can name");
    const u64 head = sequence << (64 - sequence_bits) | changes.size();
    const std::size_t bytes = changes.size() * change_bytes;
    const u64 checksum = detail::record_checksum(head, changes.data(), bytes);
    std::memcpy(to, &head, sizeof head);
    std::memcpy(to + sizeof head, &checksum, sizeof checksum);
    if (bytes != 0) std::memcpy(to + record_head_bytes, changes.data(), bytes);
}

/// A whole record in the journal. `changes` may be unaligned: read it by change().
struct found_record {
    u64 sequence = 0;
    u64 count = 0;
    const std::byte* first = nullptr;

    [[nodiscard]] page_change change(u64 i) const noexcept {
        page_change c;
        std::memcpy(&c, first + i * change_bytes, sizeof c);
        return c;
    }
    [[nodiscard]] u64 lines() const noexcept { return record_lines(count); }
};

/// The record with this sequence number at the beginning of `journal`; nullopt if there is none
/// that is whole.
[[nodiscard]] inline std::optional<found_record> read_record(std::span<const std::byte> journal,
                                                             u64 sequence) noexcept {
    if (journal.size() < record_head_bytes) return std::nullopt;
    u64 head = 0;
    u64 checksum = 0;
    std::memcpy(&head, journal.data(), sizeof head);
    std::memcpy(&checksum, journal.data() + sizeof head, sizeof checksum);
    const u64 count = head & max_changes;
    if (head >> (64 - sequence_bits) != sequence || sequence == 0) return std::nullopt;
    if (record_bytes(count) > journal.size()) return std::nullopt;
    const std::byte* const first = journal.data() + record_head_bytes;
    if (detail::record_checksum(head, first, count * change_bytes) != checksum) return std::nullopt;
    return found_record{sequence, count, first};
}

}  // namespace hf::shadow
