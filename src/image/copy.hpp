// image/copy.hpp: the image of a region, taken while nobody or while another process uses it.
//
// Purpose. Makes a second region file that holds the state at the end of one epoch, as a crash just
//  then would have left it; opening it in the usual way makes it clean. The region that is copied
//  is not changed. What nobody uses is locked meanwhile, and copied with what its journal says. In
//  use, a region on the medium `file` is two files that another process writes:
//
//     FILE          what has been applied      changes only while the gate is shut
//     FILE.journal  header: from record P on   changes only while the gate is shut
//                   records P, P+1, ... n      stay as they are while the gate is held
//                   n+1, ...                   are being appended
//
//  The copy holds the gate (journal/copy_gate.hpp), reads which records are complete, copies FILE
//  as it is, writes those records over the copy, and lets go. On other media memory is shared, and
//  changes under our hands: there whoever uses the region keeps still meanwhile, and FILE is what a
//  crash would leave (region/copy_pause.hpp).
//
// Why that is the state at the end of an epoch.
//  X1 Base and header change with the gate shut only: when records are applied, when an opening
//     takes over a journal, and until that is begun anew. A journal's name goes with its gate shut,
//     so whoever holds the gate of the journal of that name holds that of the region.
//  X2 So while it is held the header names record P, the base has all before P, and what it has of
//     later ones (a process may have died over that) the records from P on say again (J3).
//  X3 No segment with a chunk from P on is written to: it is free after a later header only (J4).
//  X4 scan_live() finds a row of complete records from P without a gap, and in it all that were
//     durable when the copy began.
//  X5 The base's length is taken after the records were read: it has what they need (J0).
//  P and the row together are what a recovery would have found, had the power gone at the moment
//  when the last record of the row was durable and the next one was not.
// How long the gate is held: as long as reading the journal twice, copying FILE and writing the
//  records takes; no more than a moment where the file system can share blocks. Meanwhile the
//  journal grows, and when it is full epochs grow late, as on a slow disk. Closing the region, or
//  opening it after a crash, waits for the end of the copy.
// Bad input. As an opening would refuse it. A full disk leaves nothing behind.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <functional>

namespace hf::detail {

struct image_facts {
    u64 bytes = 0;
    u64 epoch = 0;               ///< of whose end this is the state
    bool in_use = false;         ///< another process had it open
    bool paused = false;         ///< which kept still meanwhile: its readers and writers waited
    bool shares_blocks = false;  ///< the file system made the copy without copying
    u64 held_ns = 0;             ///< how long the gate was held, or others kept still; 0: no one
                                 ///< used it
    discipline kind = discipline::incll;
};

/// Called with the bytes copied so far, and their total.
using copy_progress = std::function<void(u64 done, u64 total)>;

/// Makes the image, with a journal beside it where it needs one. errc::busy when it is in use and
/// cannot be copied so.
[[nodiscard]] result<image_facts> copy_image(const std::filesystem::path& from,
                                             const std::filesystem::path& to,
                                             const copy_progress& progress);

/// Gives a region that was closed in order another identity, so that no journal of the one that it
/// was copied from is ever taken for its own.
[[nodiscard]] result<void> renew_identity(const std::filesystem::path& path);

}  // namespace hf::detail
