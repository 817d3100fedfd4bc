// journal/scan.hpp: which records of a journal count.
//
// Recovery. Every page of every segment is looked at; what is valid (F1) is put in order, and from
//  the header's position on the complete records count, up to the first gap. One record at a time
//  is under way when the power goes, the one behind the last complete one, and of it any part may
//  be there. A valid chunk of a record still further on therefore means that something durable was
//  damaged since: that is an error, never a shorter history. So is a file that was cut short (F4).
// Not covered. Damage to the very last record looks like one that was under way; so does damage to
//  all records from some one on.
#pragma once

#include "journal/header.hpp"
#include "journal/ring.hpp"

#include <vector>

namespace hf::journal {

struct history {
    header_facts header;
    std::vector<chunk_place> chunks;  ///< of complete records, oldest first
    u64 last_epoch = 0;               ///< the state that they lead to; 0: there are none
};

/// errc::corrupt, with the offset, for anything but a journal that a power cut can leave.
[[nodiscard]] result<history> scan(block_file& file);

/// The same of a journal to which another process goes on appending, while its copy_gate is held:
/// at least all records that were complete when this began. What is appended meanwhile is met in
/// any order, so a single look may find a later record and not the one before it. But whoever began
/// record r has made r - 1 durable before (J1). So: one look tells the newest record begun by then,
/// a second finds all before that one, or they are damaged; what it finds beyond may have gaps.
[[nodiscard]] result<history> scan_live(block_file& file);

}  // namespace hf::journal
