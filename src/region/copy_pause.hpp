// region/copy_pause.hpp: pauses a region whose memory is its file while it is copied.
//
// Purpose. On dax, eadr and shm every store is in FILE at once, so a copy of FILE
//  made meanwhile would be inconsistent. But when no operation is running, FILE is what a crash
//  at that moment would leave, from which recovery works. So a copy sends a request, and the
//  process that uses the region excludes all operations (epoch/gate.hpp) until the copy is made.
//  Its readers and writers wait as long as the memory takes to be copied.
// Protocol. Two bytes past FILE's end are locked (base/byte_lock.hpp):
//
//      the copy                            the user of the region, at each tick of its clock
//      locks ASK, shared                   ASK is locked? closes the gate,
//      waits until STILL is locked         locks STILL exclusively,
//      copies                              waits until ASK is free,
//      STILL is locked still?              releases STILL, then opens the gate
//      releases ASK
//
// Why a copy is consistent.
//  Y1  STILL is locked only while the gate is closed.
//  Y2  The process that locked STILL releases it only after all copies have released ASK. So if it
//      is locked before and after the copy, by the same process, nothing changed in between.
//  Y3  It is the same process, because it is the same session, by the superblock's generation. A
//      process that dies loses its locks; the next one has another session.
//  If the copy dies it loses ASK, and the gate opens.
#pragma once

#include <holdfast/result.hpp>

#include "base/bits.hpp"
#include "region/file.hpp"

namespace hf::detail {

class copy_pause {
   public:
    static constexpr u64 ask_offset = locked_bytes + 1;
    static constexpr u64 still_offset = locked_bytes + 2;

    /// The caller must keep the descriptor of FILE open.
    explicit copy_pause(int fd) noexcept : fd_(fd) {}

    // --- for the user of the region ---
    /// True if a copy requests a pause. A system call.
    [[nodiscard]] bool is_asked() const noexcept;
    /// Returns when no copy is in progress. Call it with the gate closed.
    void keep_still() const noexcept;

    // --- for the copy ---
    [[nodiscard]] result<void> ask() const;
    [[nodiscard]] bool is_still() const noexcept;
    void release() const noexcept;

   private:
    int fd_;
};

}  // namespace hf::detail
