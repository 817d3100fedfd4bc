// journal/scan.hpp: finds the records of a journal that count.
//
// Recovery. Every page of every segment is checked; valid chunks (F1) are sorted, and the complete
// records from the header's position on count, up to the first gap. When the power fails, at most
// one record is in flight, the one after the last complete one, and any part of it may be there. So
// a valid chunk of a still later record means that a durable record was damaged since: that is an
// error, never a shorter history. So is a truncated file (F4), unless only space is missing that no
// record has ever used: then the next session makes the file longer again.
// Not detected. Damage to the very last record, or to all records after a certain one, looks like a
// record in flight.
#pragma once

#include "journal/header.hpp"
#include "journal/ring.hpp"

#include <vector>

namespace hf::journal {

struct history {
    header_facts header;
    std::vector<chunk_place> chunks;  ///< of complete records, oldest first
    u64 last_epoch = 0;               ///< the epoch of the last record; 0: there are none
};

/// errc::corrupt, with the offset, for any journal that a power failure cannot produce.
[[nodiscard]] result<history> scan(block_file& file);

/// scan() of a journal to which another process is appending, while its copy_gate is held. Returns
/// at least all records that were complete when the call began. Pages may be read before or after a
/// concurrent append, so a single pass may find a later record and miss the one before it. But a
/// process begins record r only after r - 1 is durable (J1). So the first pass finds the newest
/// record begun by then, and a second pass finds all before that one, unless they are damaged;
/// after it there may be gaps.
[[nodiscard]] result<history> scan_live(block_file& file);

}  // namespace hf::journal
