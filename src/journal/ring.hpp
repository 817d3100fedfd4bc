// journal/ring.hpp: where records lie in a journal file: a ring of segments.
//
// Purpose. Appends records at one end and gives segments back at the other. Knows offsets and
//  numbers, syncs nothing: when what is durable is core.hpp's business.
//
// Invariants.
//  R1 Chunks follow each other in used(), oldest segment first, in the order of their positions,
//     without a gap.
//  R2 A free segment holds no chunk at or behind the header's position: it is freed only after the
//     header that says so is durable (J4).
//  R3 A segment is opened only where another one is free behind it.
//
// Cut short. Of a file that loses its segments from j on, something that is left says more than j
//  (F4). If the last header was written when there was a segment j, it does. If not, j was added
//  since, when a record needed all free segments (R3): the first of them is older than j, for free
//  ones are used in the order in which they became free, and the record's chunk in it counts j. It
//  is not given up without another header.
//
// Zeros ahead. What was allocated and never written is a hole to a file system that is asked to
//  sync: it must make its own books durable besides the data, which takes as long again. So behind
//  a record that comes upon such space, some more of its segment is filled with zeros, and the next
//  small records find it written. To a reader both are zeros.
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
    u64 end_line = 0;  ///< behind the last line that it holds; known to a scan only

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

    /// `segments` free ones, of which `segment_bytes` is a multiple of 4,096.
    ring(const identity& who, u64 segment_bytes, u64 segments);

    [[nodiscard]] static u64 file_bytes(u64 segment_bytes, u64 segments) noexcept {
        return first_segment + segment_bytes * segments;
    }

    /// How many more segments append() would need than are free (R3).
    [[nodiscard]] u64 missing(const record& r);
    /// Writes the record; missing(r) must be 0. On error nothing counts, and it may be tried again:
    /// at the same place, for a position must not be found twice.
    [[nodiscard]] result<void> append(block_file& file, const record& r);

    [[nodiscard]] const std::deque<used_segment>& used() const noexcept { return used_; }
    /// The next record begins a segment of its own, so the newest one is full. False: a record has
    /// begun there and is to be tried again.
    bool seal() noexcept;
    /// The oldest `n` used segments become free.
    void free_oldest(u64 n);
    /// One more segment at the file's end, which the caller has extended.
    void add_segment();

    [[nodiscard]] u64 segments() const noexcept { return segments_; }
    [[nodiscard]] u64 segment_bytes() const noexcept { return segment_bytes_; }
    [[nodiscard]] u64 next_record() const noexcept { return next_record_; }
    /// Zeros ahead count.
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
