// bench/compare/disk_watch.hpp: what of a store's writes has reached the disk, seen from outside.
//
// While it watches, the process's calls of write, pwrite, writev, pwritev, fsync, fdatasync and
// msync pass through here, whoever makes them: the import tables of the program and its libraries
// are changed for that long. Nothing of a store is asked or believed but that it uses these calls.
//
// A probe is a value that one thread puts again and again under one key, marked with a number that
// grows (probe_value). It has landed
//
//   W1  when a sync of a file has returned that began after a write of it, or of a newer one, to
//       this file had returned; or at once when the file syncs each write (O_DSYNC);
//   W2  in a store that writes through a mapping, which cannot be seen: when an msync has returned
//       that began after the probe was acknowledged, or inside of its put.
//
// So it says when a power cut could no longer take the probe, at the earliest: what a store needs
// on the disk besides (a commit record in another file, the second of two syncs), is not seen. Nor
// are io_uring, direct system calls, and what a disk does after it has said that it is done.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hf::bench {

/// When a sync returned that made the probes up to this one durable.
struct landing {
    u64 ns = 0;
    u64 probe = 0;
};

/// Of 16 bytes at least; any piece of 31 bytes tells the number, which is less than 2^32.
[[nodiscard]] std::string probe_value(u64 probe, u32 size);
/// The greatest probe whose mark stands in these bytes; 0: none.
[[nodiscard]] u64 newest_probe_in(std::span<const char> bytes) noexcept;

class disk_watch {
   public:
    /// One at a time. errc::incompatible where the calls of this program cannot be watched, as in
    /// builds with a sanitizer, which has put itself there first.
    [[nodiscard]] static result<std::unique_ptr<disk_watch>> begin();
    ~disk_watch();
    disk_watch(const disk_watch&) = delete;
    disk_watch& operator=(const disk_watch&) = delete;

    /// By the thread that puts probes, before each put: the number of the next one. No number comes
    /// twice in a process, so what an earlier watch has left in files is never taken for newer.
    [[nodiscard]] u64 putting() noexcept;
    /// And after it.
    void acknowledged(u64 probe) noexcept;
    /// In order; times and probes grow.
    [[nodiscard]] std::vector<landing> landings() const;

   private:
    disk_watch() = default;
};

}  // namespace hf::bench
