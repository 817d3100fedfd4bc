// region/copy_pause.hpp: a region whose memory is its file keeps still while it is copied.
//
// Purpose. On dax, eadr and shm whatever a program stores is in FILE at once, so a copy of FILE
//  made meanwhile would be of no moment. But if no operation is under way, FILE is what a crash
//  just then would have left, and that is what recovery is made for. So a copy asks, and whoever
//  uses the region stops its world (epoch/gate.hpp) until the copy is made. Its readers and writers
//  wait that long: as long as the memory takes to be copied.
// How. Two bytes behind FILE's end are locked (base/byte_lock.hpp):
//
//      who copies                          who uses the region, with each tick of its clock
//      ASK shared, from here on            ASK is locked? stops the world,
//      waits until STILL is locked         STILL exclusively,
//      copies                              waits until ASK is free,
//      STILL is locked still?              lets go of STILL, then lets the world go on
//      lets go of ASK
//
// Why a copy is of one moment.
//  Y1  STILL is locked while the world is stopped, and only then.
//  Y2  Who has locked it doesn't let go of it before all have let go of ASK. So if it is found
//      locked before the copy and after it, by the same process, nothing changed in between.
//  Y3  That it is the same process: its session is, by the superblock's generation. A process that
//      dies loses its locks; the next one has a session of its own.
//  A copy that dies loses ASK, and the world goes on.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"
#include "region/file.hpp"

namespace hf::detail {

class copy_pause {
   public:
    static constexpr u64 ask_offset = locked_bytes + 1;
    static constexpr u64 still_offset = locked_bytes + 2;

    /// The caller keeps the descriptor of FILE open.
    explicit copy_pause(int fd) noexcept : fd_(fd) {}

    // --- who uses the region ---
    /// Whether a copy waits for it to keep still. A system call.
    [[nodiscard]] bool is_asked() const noexcept;
    /// Returns when no copy is under way. With the world stopped.
    void keep_still() const noexcept;

    // --- who copies it ---
    [[nodiscard]] result<void> ask() const;
    [[nodiscard]] bool is_still() const noexcept;
    void release() const noexcept;

   private:
    int fd_;
};

}  // namespace hf::detail
