// journal/merge.hpp: brings what many records hold to the base file, each page once.
//
// Purpose. A line or its neighbours come again and again in the records of some seconds, and the
//  disk writes pages. So the records are not written one after the other: the base is walked in
//  slices of 1 MiB, from its beginning to its end; of each slice the pages that some record touches
//  are read, all records put their lines into them, oldest first, and the pages are written. A
//  slice stays in the processor's own cache meanwhile.
// Order. What is written are whole pages, with the bytes that no record has as they were. Nobody
//  else writes to the base meanwhile, and to disks that are cut short it is all the same: a byte
//  that no record has keeps its value whether its sector was written or not, and all others are
//  said by records which stay until the base is synced (J3 of core.hpp).
// Requests. One costs about as much as two pages more: gaps of so many between the pages of a slice
//  are written with them. The next slice is asked for ahead where most of this one is needed,
//  and what is written is to go to the disk at once, so that the sync finds little left to do and
//  the records that are synced meanwhile need not wait behind all of it.
// Cost. Of each chunk its runs, 8 bytes each, in memory: a ninth of the chunks at most; a call for
//  each chunk and slice that it has lines in; two for each row of neighbouring pages.
//  A mapping of the base in place of those calls was slower: each page that the kernel has cleaned
//  faults when it is stored to, and to clean it all processors are interrupted.
// Bad input. The lines of a record are sorted (capture.hpp). Chunks in which they are not are
//  applied one run after the other.
#pragma once

#include "journal/ring.hpp"

#include <span>

namespace hf::journal {

/// Writes the lines of the chunks, which are given oldest first, to `base`, of each line what its
/// newest chunk says. Returns the bytes written. Syncs nothing.
[[nodiscard]] result<u64> merge(block_file& journal, std::span<const chunk_place> chunks,
                                block_file& base);

}  // namespace hf::journal
