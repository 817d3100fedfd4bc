// bench/compare/disk_watch.hpp: observes from outside which writes of a store have reached the
// disk.
//
// While it watches, all calls of write, pwrite, writev, pwritev, fsync, fdatasync and msync in the
// process pass through it: it changes the import tables of the program and its libraries. It
// assumes nothing about a store but that it uses these calls.
//
// A probe is a value that one thread puts repeatedly under one key, marked with an increasing
// number (probe_value). It has landed
//
//   W1  when a sync of a file has returned that began after a write of it, or of a newer one, to
//       this file had returned; or at once if the file syncs each write (O_DSYNC);
//   W2  in a store that writes through a mapping, which cannot be observed: when an msync has
//       returned that began after the probe was acknowledged, or during its put.
//
// So it reports the earliest time at which a power failure could no longer lose the probe. Other
// requirements of the store (a commit record in another file, the second of two syncs) are not
// observed, and neither are io_uring, direct system calls, and the disk's behaviour after it has
// confirmed a flush.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hf::bench {

/// The time at which a sync returned that made the probes up to this one durable.
struct landing {
    u64 ns = 0;
    u64 probe = 0;
};

/// At least 16 bytes; any 31 consecutive bytes contain the number, which is less than 2^32.
[[nodiscard]] std::string probe_value(u64 probe, u32 size);
/// The greatest probe number marked in these bytes; 0: none.
[[nodiscard]] u64 newest_probe_in(std::span<const char> bytes) noexcept;

class disk_watch {
   public:
    /// One watch at a time. errc::incompatible if the calls of this program cannot be watched, as
    /// in builds with a sanitizer, which has already replaced them.
    [[nodiscard]] static result<std::unique_ptr<disk_watch>> begin();
    ~disk_watch();
    disk_watch(const disk_watch&) = delete;
    disk_watch& operator=(const disk_watch&) = delete;

    /// Called by the thread that puts probes, before each put: the number of the next one. Numbers
    /// are unique in a process, so leftovers of an earlier watch in files are never taken for newer
    /// ones.
    [[nodiscard]] u64 putting() noexcept;
    /// Called after the put.
    void acknowledged(u64 probe) noexcept;
    /// In order; times and probes increase.
    [[nodiscard]] std::vector<landing> landings() const;

   private:
    disk_watch() = default;
};

}  // namespace hf::bench
