// image/copy.hpp: copies a region, even while another process uses it.
//
// Purpose. Makes a second region file with the state at the end of one epoch, as a crash at that
// moment would have left it; opening it in the usual way makes it clean. The source region is not
// changed. If no process uses it, it is locked and copied, and its journal is applied to the copy.
// While in use, a region on the medium `file` consists of two files that another process writes:
//
//     FILE          the applied records           changes only while the gate is shut
//     FILE.journal  header: from record P on      changes only while the gate is shut
//                   records P, P+1, ... n         do not change while the gate is held
//                   n+1, ...                      are being appended
//
// The copy holds the gate (journal/copy_gate.hpp), reads which records are complete, copies FILE as
// it is, writes those records over the copy, and releases the gate. On other media memory is shared
// and changes during the copy: there the process that uses the region pauses, and FILE is what a
// crash would leave (region/copy_pause.hpp).
//
// Why the copy is the state at the end of an epoch.
//  X1 Base and header change only with the gate shut: when records are applied, and while
//     open() takes over a journal and restarts it. A journal's file name is removed with its
//     gate shut, so the holder of the gate of the journal with that name holds the region's gate.
//  X2 So while the gate is held the header names record P, the base contains all records before P,
//     and anything it contains of later ones (a process may have died while it applied them) is
//     also in the records from P on (J3).
//  X3 No segment with a chunk from P on is written to: it becomes free only by a later header (J4).
//  X4 scan_live() finds a sequence of complete records from P without a gap, which includes all
//     that were durable when the copy began.
//  X5 The base's length is read after the records: it covers them (J0).
//  P and the sequence are what recovery would have found if the power had failed when the last
//  record of the sequence was durable and the next one was not.
// Duration. The gate is held while the journal is read twice, FILE is copied and the records are
// written; this is short if the file system can share blocks. Meanwhile the journal grows; when it
// is full, epochs become longer, as on a slow disk. Closing the region, or opening it after a
// crash, waits for the end of the copy.
// Bad input. Same errors as open(). On a full disk the partial copy is removed.
#pragma once

#include <holdfast/options.hpp>
#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <filesystem>
#include <functional>

namespace hf::detail {

struct image_facts {
    u64 bytes = 0;
    u64 epoch = 0;               ///< the state is that at the end of this epoch
    bool was_closed = false;     ///< in order: the image needs no recovery
    u64 stored_bytes = 0;        ///< of a ready copy: those that are no holes of its file
    bool in_use = false;         ///< another process had it open
    bool paused = false;         ///< that process paused meanwhile: its readers and writers waited
    bool shares_blocks = false;  ///< the file system shared the blocks instead of copying
    /// how long the gate was held, or the process paused; 0: not in use
    u64 held_ns = 0;
    discipline kind = discipline::incll;
};

/// Called with the bytes copied so far, and their total.
using copy_progress = std::function<void(u64 done, u64 total)>;

/// Makes the image, with a journal beside it if needed. errc::busy: it is in use and cannot be
/// copied meanwhile.
[[nodiscard]] result<image_facts> copy_image(const std::filesystem::path& from,
                                             const std::filesystem::path& to,
                                             const copy_progress& progress);

/// Gives a cleanly closed region a new identity, so that a journal of the region it was copied from
/// is never applied to it.
[[nodiscard]] result<void> renew_identity(const std::filesystem::path& path);

}  // namespace hf::detail
