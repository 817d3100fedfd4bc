// transaction/shadow_recovery.hpp: recovers a heap of the shadow engine after a crash.
//
// Purpose. Brings every committed line home and empties the table of second slots, so that a
// session begins with homes alone. Its time goes with the records of the interrupted epoch, the
// slots that are in use, and the table (a 128th of the slots); not with the heap.
//
// The table on the medium is a mixture of what it was at the epoch's begin and of later states,
// each of which a record of the epoch explains. Replayed in their order, the records give each bit
// that they name its last value, and the other bits are those of the epoch's begin.
//
// Which records count. Each whole one (recovery.hpp), but the last of a log: it may be on the
// medium without its lines. One that came after a fence says so, with no checksum of its lines. Of
// another the lines must have its checksum; or a line of it is in a record with a higher number,
// which was begun when this one was durable.
//
// Persist order.
//  SR1  Records, and the lines that they turn to, are durable before a line is copied: what a
//       killed process left in the caches alone may have decided which records count.
//  SR2  Homes are durable before an entry of the table is cleared.
//  SR3  The table is clear, durably, before the session begins.
//
// Recovery that is cut short is done again, and reaches a state of the same history:
//  SR4  A record that counted counts again: SR1 has made it and its lines durable. Recovery writes
//       no slot. It writes homes of lines that a slot holds, and words of fresh blocks in lines
//       that no record from theirs on names. So a record's lines stay, unless a later record names
//       them, and that one proves that they were durable.
//  SR5  A record that did not count does not count the next time either, unless the homes that
//       recovery has written hold the very bytes that the record asks for. Then all of its lines
//       are on the medium, and it may count: transactions read only lines that were given back
//       (S2), so no other record depends on it. Nothing has to be written about a refused record.
//  SR6  A killed process leaves all of its stores in the caches. There each whole record is found
//       with its lines, and SR1 makes them durable before anything is changed.
// SR4 needs that the allocator hands out a freed block only when the epoch that freed it is
// durable. Otherwise its next owner would store to lines of a record that counts.
//
// Bad input. errc::corrupt, nothing changed: a damaged record (recovery.hpp); a record with a slot
// number that does not exist; a table entry that belongs to another slot, or whose check fails;
// two slots of one page; committed bits that contradict their copy in a line that no record names.
// Where a record names the line, its bit is written by the replay, whatever the entry says.
#pragma once

#include "transaction/recovery.hpp"

namespace hf {

/// Before the heap is opened. Once more where a crash cuts it short.
[[nodiscard]] result<applied_records> recover_shadow(region& r, u64 epoch);

}  // namespace hf
