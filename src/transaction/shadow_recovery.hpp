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
//      killed
//       process left in the caches alone may have decided which records count.
//  SR2  Homes are durable before an entry of the table is cleared.
//  SR3  The table is clear, durably, before the session begins.
// Cut short, it is done again: the slots are as they were, and so is each decision.
//
// Bad input. errc::corrupt, nothing changed: a damaged record (recovery.hpp), a record that names
// what is no slot, an entry that names another place than its own, two slots of one page.
#pragma once

#include "transaction/recovery.hpp"

namespace hf {

/// Before the heap is opened. Once more where a crash cuts it short.
[[nodiscard]] result<applied_records> recover_shadow(region& r, u64 epoch);

}  // namespace hf
