// transaction/commit_record.hpp: the log record of one transaction.
//
//   | checksum 8 | epoch 8 | version 8 | words 4 | number 4 | changes 4 | kind 4 |   40 bytes
//   | lines: | line << 8 | mask 8 | its words, those whose bit is set |  ...
//   | changes: | offset 8 | clear 8 | set 8 | ...
//   | done 8 |                                             of kind undo; not in the checksum
//
// One of kind shadow has, instead of the transaction's lines, the pages whose lines change slots
// (shadow/rules.hpp), and after these the lines of fresh blocks that the record holds:
//
//   | sum of its lines 8 | page, slot, line: 8 | page, slot: 8 | mask 8 | page, slot: 8 | mask 8 |
//     0: they are durable  `- one line changes   `- several, to one slot |  value 8 |
//                                                                `- several, to both slots
//   the highest bit first:
//   page, slot, line:  | one line 1 | value 1 | page 28 | slot 28 | line 6 |
//   page, slot:        | 0 | value of all 1   | page 28 | slot 28 | all have one value: 1, else 0 |
//
// `line` is the offset in the region, in lines. `words` counts the words between
// the header and `done`. A redo record has the new words, an undo record the
// old ones, which recovery restores unless `done` is the record's checksum: then the transaction
// has committed. (An older record could have left any fixed mark there.) The changes are the
// allocator's (alloc/committed/word_change.hpp): applied for both kinds, if it committed.
//
// R1  The checksum covers epoch, version, number and all words, seeded by the region's id; epochs
//     never repeat. So an incomplete record, or one of an older epoch, is never accepted.
// R2  A record is durable before the next one of its log is written, and they are numbered from 1
//     in an epoch. So if one is incomplete and a later one complete, the log is damaged, not torn.
// R3  New blocks come before the lines. The lines may include words of a new block, if they were
//     stored when it was not the newest any more: the block's own bytes are older then.
// R4  A record in pieces (in_pieces_flag) continues at the start of its lane's next segment where
//     its own ends, and so on; it is checked as a whole. Its `done` may lie in another segment than
//     its header. It is written where no segment has room for it in one piece.
#pragma once

#include "alloc/committed/word_change.hpp"
#include "base/checksum.hpp"
#include "region/region.hpp"
#include "shadow/bitmaps.hpp"
#include "transaction/late_flushes.hpp"
#include "transaction/write_set.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace hf {

enum class record_kind : u32 { redo = 1, undo = 2, shadow = 3 };

struct record_header {
    u64 checksum;
    u64 epoch;
    u64 version;
    u32 words;
    u32 number;
    u32 changes;
    u32 kind;  ///< record_kind, in_pieces_flag; from bit 8 on the words that say which pages change
};
static_assert(sizeof(record_header) == 40);

/// Memory of the region: at a multiple of 16 bytes, a multiple of 8 bytes long.
struct fresh_block {
    u64 address;
    u64 bytes;
};

/// In `kind`: the record is in pieces (R4).
inline constexpr u32 in_pieces_flag = 0x80;
[[nodiscard]] constexpr record_kind kind_of(const record_header& h) noexcept {
    return record_kind{h.kind & 0x7f};
}
[[nodiscard]] constexpr bool is_in_pieces(const record_header& h) noexcept {
    return (h.kind & in_pieces_flag) != 0;
}

/// Lines of one page that change slots, and the page that is its second slot.
struct record_page {
    shadow::page_change change;
    u64 slot;
};

/// The sum of lines that are durable before their record.
inline constexpr u64 no_lines_sum = 0;

/// The checksum of a record's lines, in its order. Each line's does not wait for the one before.
class lines_sum {
   public:
    void add(const void* line) noexcept { sum_ += checksum64(line, line_size, ++lines_); }
    [[nodiscard]] u64 value() const noexcept { return lines_ == 0 ? no_lines_sum : sum_ | 1; }

   private:
    u64 sum_ = 0;
    u64 lines_ = 0;
};

/// The contents of a record.
struct record_body {
    record_kind kind;
    std::span<const written_line> lines;
    std::span<const fresh_block> fresh;  ///< copied from their home locations
    std::span<const committed::word_change> changes;
    std::span<const record_page> pages = {};  ///< of kind shadow
    u64 lines_sum = no_lines_sum;             ///< of kind shadow
};

struct record_facts {
    u64 epoch;
    u64 version;
    u32 number;
    bool in_pieces = false;
};

/// Size of a record in its log, in bytes; whole lines.
[[nodiscard]] u64 record_bytes(const record_body& body) noexcept;

/// An upper bound, computed without reading the words. For a shadow record: with `pages` more.
[[nodiscard]] u64 most_record_bytes(const record_body& body, u64 pages = 0) noexcept;

/// Writes a record, at its destination or to be copied there. Words of an undo record are read
/// from their home locations. Returns its size in bytes.
u64 write_record(const region& r, record_header* header, const record_facts& facts,
                 const record_body& body, u64 seed) noexcept;

/// Marks an undo record as done; the caller persists the word that is returned.
std::atomic<u64>& mark_done(const region& r, u64 at) noexcept;

/// The checksum's seed.
[[nodiscard]] u64 record_seed(const region& r) noexcept;

/// Contiguous bytes of a log.
struct log_piece {
    u64 at;
    u64 bytes;
};

/// A record in a log.
struct record_view {
    u64 at;
    u64 bytes;
    record_header header;
    bool is_last = false;                    ///< of its log, in the epoch
    const u64* body = nullptr;               ///< its words, contiguous
    const std::atomic<u64>* done = nullptr;  ///< of kind undo
    /// For a record in pieces: where they are, and a copy of its words.
    struct pieces {
        std::vector<log_piece> parts;
        std::vector<u64> words;
    };
    std::shared_ptr<const pieces> parts = nullptr;
};

/// The record at `at`, with `room` bytes left in its segment; nullopt: there is no complete
/// one of that epoch.
[[nodiscard]] std::optional<record_view> read_record(const region& r, u64 at, u64 room, u64 epoch,
                                                     u64 seed) noexcept;

/// The record in pieces that begins `skip` bytes after the start of the first of these segments,
/// in any of them; nullopt: as for read_record().
[[nodiscard]] std::optional<record_view> read_record_in_pieces(const region& r,
                                                               std::span<const segment> log,
                                                               u64 skip, u64 epoch, u64 seed);

/// Calls on_piece(at, bytes) for each piece of the log that the record lies in.
template <class OnPiece>
void each_piece(const record_view& v, OnPiece&& on_piece) {
    if (v.parts == nullptr) return on_piece(v.at, v.bytes);
    for (const log_piece& p : v.parts->parts) on_piece(p.at, p.bytes);
}

/// errc::corrupt: it has an offset outside of the region.
[[nodiscard]] result<void> check_record(const region& r, const record_view& record);

/// The changes of the allocator's words in a checked record, if it has committed.
void read_changes(const record_view& record, std::vector<committed::word_change>& into);
/// The pages of a checked shadow record.
[[nodiscard]] std::vector<record_page> pages_of(const record_view& record);
[[nodiscard]] u64 lines_sum_of(const record_view& record) noexcept;
/// Calls f with each line whose words it holds: the line's number, the words' mask, the words.
void each_line_of(const region& r, const record_view& record,
                  const std::function<void(u64, u8, const u64*)>& f);
/// Installs its words where they differ; adds their lines to `flushes`.
void apply_words(const region& r, const record_view& record, late_flushes& flushes);

}  // namespace hf
