// journal/merge.hpp: applies many records to the base file, writing each page once.
//
// Purpose. The same lines and their neighbours occur in many records, and a disk writes whole
// pages. So records are not applied one by one: the base is processed in slices of 1 MiB, from
// beginning to end. The pages of a slice that any record touches are read, all records copy
// their lines into them, oldest first, and the pages are written. The slice stays in the
// processor's own cache meanwhile.
// Order. Whole pages are written, with unchanged bytes where no record has a line. No other thread
// writes to the base meanwhile, and a power failure is harmless: a byte without a record keeps its
// value whether its sector was written or not, and all other bytes are in records that are kept
// until the base is synced (J3 of core.hpp).
// Requests. A request costs about as much as two pages: gaps of up to that size between the pages
// of a slice are written, too. The next slice is read ahead if most of this one is needed. Written
// pages are sent to the disk at once, so that the sync has little left to do and concurrent syncs
// of records need not wait for all of it.
// Cost. Memory for each chunk's runs, 8 bytes each: at most a ninth of the chunks. One read for
// each chunk and slice in which it has lines; two requests for each run of adjacent pages. Mapping
// the base instead was slower: each page that the kernel has cleaned faults at its next store, and
// cleaning it interrupts all processors.
// Bad input. The lines of a record are sorted (capture.hpp). Chunks with unsorted lines are applied
// one run after the other.
#pragma once

#include "journal/ring.hpp"

#include <span>

namespace hf::journal {

/// Writes the lines of the chunks, which are given oldest first, to `base`: for each line the value
/// in its newest chunk. Returns the bytes written. Does not sync.
[[nodiscard]] result<u64> merge(block_file& journal, std::span<const chunk_place> chunks,
                                block_file& base);

}  // namespace hf::journal
