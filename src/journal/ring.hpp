// journal/ring.hpp: the placement of records in a journal file: a ring of segments.
//
// Purpose. Appends records at one end and frees segments at the other. Manages offsets and numbers,
// and never syncs: the persist order is core.hpp's.
//
// Invariants.
//  R1 Chunks follow each other in used(), oldest segment first, in the order of their positions,
//     without a gap.
//  R2 A free segment contains no chunk at or after the header's position: it is freed only after
//     the header that excludes it is durable (J4).
//  R3 A segment is opened only if another one is free after it.
//  R4 Until the first segment is freed, segments are opened in the order of their places.
//
// Truncation. If a file loses its segments from j on, some remaining header or chunk says that
// there were more than j (F4). If the last header was written when segment j existed, it does. If
// not, j was added since, when a record needed all free segments (R3): the first of these is older
// than j, because free segments are used in the order in which they became free, and the record's
// chunk in it counts j. It is not freed without a new header. A file whose missing end was
// certainly never used (R4) is accepted: scan.cpp.
//
// Zeros ahead. Allocated space that was never written is a hole to the file system: a sync must
// then write metadata, too, which doubles its time. So after a record that is the first in such
// space, some more of its segment is filled with zeros, and the next small records overwrite them.
// Holes and zeros read the same.
// Concurrency. None of its own; core.hpp locks.
#pragma once

#include "journal/block_file.hpp"
#include "journal/format.hpp"

#include <deque>
#include <vector>

namespace hf::journal {

struct chunk_place {
    u64 offset = 0;  ///< in the journal file
    u64 epoch = 0;
    position at;
    u32 count = 0;  ///< chunks in its record
    u32 runs = 0;
    u32 lines = 0;
    u64 end_line = 0;  ///< one past its last line; set only by a scan

    [[nodiscard]] u64 bytes() const noexcept { return chunk_bytes(runs, lines); }
    /// The position of the chunk that must follow.
    [[nodiscard]] position next() const noexcept {
        return at.chunk + 1 < count ? position{at.record, at.chunk + 1}
                                    : position{at.record + 1, 0};
    }
};

/// The lines of one epoch: lines[i] is the number of the line whose 64 bytes are at data + 64 i.
struct record {
    u64 epoch = 0;
    std::span<const u64> lines;
    const std::byte* data = nullptr;
};

class ring {
   public:
    struct used_segment {
        u64 index;
        std::vector<chunk_place> chunks;
    };

    /// `segments` free ones of `segment_bytes`, a multiple of 4,096.
    ring(const identity& who, u64 segment_bytes, u64 segments);

    [[nodiscard]] static u64 file_bytes(u64 segment_bytes, u64 segments) noexcept {
        return first_segment + segment_bytes * segments;
    }

    /// The number of segments that append() would need beyond the free ones (R3).
    [[nodiscard]] u64 missing(const record& r);
    /// Writes the record; missing(r) must be 0. After an error nothing counts, and it may be
    /// retried: it is written to the same place, because no position may occur twice.
    [[nodiscard]] result<void> append(block_file& file, const record& r);

    [[nodiscard]] const std::deque<used_segment>& used() const noexcept { return used_; }
    /// Makes the next record begin a new segment, so the newest one is full. False: a record has
    /// begun there and must be retried.
    bool seal() noexcept;
    /// Frees the oldest `n` used segments.
    void free_oldest(u64 n);
    /// Adds a segment at the file's end; the caller has extended the file.
    void add_segment();

    [[nodiscard]] u64 segments() const noexcept { return segments_; }
    [[nodiscard]] u64 segment_bytes() const noexcept { return segment_bytes_; }
    [[nodiscard]] u64 next_record() const noexcept { return next_record_; }
    /// Includes zeros ahead.
    [[nodiscard]] u64 written_bytes() const noexcept { return written_; }

   private:
    struct planned {
        bool opens_segment;  ///< the first in its segment
        u64 within;          ///< offset in its segment
        u64 first_line;      ///< index in record::lines
        u64 first_run;       ///< index in runs_
        u32 lines;
        u32 runs;
    };
    void plan(const record& r);
    planned plan_chunk(const record& r, u64 from, u64 room);
    [[nodiscard]] result<u64> write_ahead(block_file& file, u64 segment, u64 end);

    u64 segment_bytes_;
    u64 segments_ = 0;
    u64 seed_;
    u64 next_record_ = 1;
    u64 at_;  ///< next byte in the newest used segment
    u64 written_ = 0;
    bool half_written_ = false;
    std::deque<used_segment> used_;
    std::deque<u64> free_;
    std::vector<u64> touched_;  ///< bytes of each segment, by index, that were ever written
    std::vector<planned> plan_;
    std::vector<u64> runs_;
};

}  // namespace hf::journal
