// image/copy.hpp: copies a region, whether or not another process uses it.
//
// Purpose. Makes a second region file with the state at the end of one epoch, as if a crash had
//  happened then; opening it in the usual way makes it clean. The source is not changed. A region
//  that no process uses is locked meanwhile, and copied together with its journal's records. On the
//  medium `file`, a region in use is two files that another process writes:
//
//     FILE          the applied records           changes only while the gate is shut
//     FILE.journal  header: from record P on   changes only while the gate is shut
//                   records P, P+1, ... n      unchanged while the gate is held
//                   n+1, ...                   are being appended
//
//  The copy holds the gate (journal/copy_gate.hpp), determines the complete records, copies FILE
//  as it is, writes those records over the copy, and releases the gate. On other media memory is
//  shared, and FILE changes at any time. There the process that uses the region pauses, and
//  FILE is what a crash would leave (region/copy_pause.hpp).
//
// Why the copy is the state at the end of an epoch.
//  X1 Base and header change only with the gate shut: when records are applied, when an open
//     takes over a journal, and until that is restarted. A journal is unlinked with its gate shut,
//     so a process that holds the gate of the journal of that name holds that of the region.
//  X2 So while the gate is held the header names record P, the base has all records before P, and
//     the records from P on overwrite any parts of later ones that it has (a process may have died
//     while applying them) (J3).
//  X3 No segment with a chunk from P on is overwritten: it is free only after a later header (J4).
//  X4 scan_live() finds a gapless sequence of complete records from P on, which includes all that
//     were durable when the copy began.
//  X5 The base's length is read after the records: it covers them (J0).
//  P and this sequence are what recovery would have found after a power cut at the moment
//  when the last record of the sequence was durable and the next one was not.
// Duration. The gate is held while the journal is read twice, FILE is copied and the
//  records are written; only a moment if the file system can share blocks. Meanwhile the
//  journal grows, and when it is full epochs are extended, as on a slow disk. Closing the region,
//  or opening it after a crash, waits for the end of the copy.
// Bad input. Refused as by an open. A full disk leaves no files.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <functional>

namespace hf::detail {

struct image_facts {
    u64 bytes = 0;
    u64 epoch = 0;               ///< the copy is the state at its end
    bool in_use = false;         ///< another process had the region open
    bool paused = false;         ///< that process paused: its readers and writers waited
    bool shares_blocks = false;  ///< the file system made the copy by sharing blocks
    u64 held_ns = 0;             ///< how long the gate was held, or the pause lasted; 0: the region
                                 ///< was not in use
    discipline kind = discipline::incll;
};

/// Called with the bytes copied so far, and their total.
using copy_progress = std::function<void(u64 done, u64 total)>;

/// Makes the image, with a journal beside it if it needs one. errc::busy: the region is in use and
/// cannot be copied meanwhile.
[[nodiscard]] result<image_facts> copy_image(const std::filesystem::path& from,
                                             const std::filesystem::path& to,
                                             const copy_progress& progress);

/// Gives a copied region, closed in order, another identity, so that no journal of the original
/// is ever taken for its own.
[[nodiscard]] result<void> renew_identity(const std::filesystem::path& path);

}  // namespace hf::detail
