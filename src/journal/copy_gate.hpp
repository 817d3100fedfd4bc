// journal/copy_gate.hpp: keeps the base file and the journal's header unchanged while they are
// copied.
//
// Purpose. Another process copies a region in use from its two files. This is possible at any time
// except while old records are applied to the base: a process that changes the base, or the header
// with the start of recovery, shuts the gate; a copy holds it open. Meanwhile epochs still become
// durable; only their application waits.
// Mechanism. A lock on one byte of the journal, far beyond its end (format.hpp): shared for copies,
// exclusive for changes. It belongs to the open file, so it ends with the process at the latest.
// Used by X1 to X5 in image/copy.hpp.
#pragma once

#include <holdfast/result.hpp>

namespace hf::journal {

class copy_gate {
   public:
    /// A gate for a journal that no other process can open: does nothing.
    copy_gate() = default;
    /// The caller keeps the descriptor open. All gates of one descriptor share one lock.
    explicit copy_gate(int fd) noexcept : fd_(fd) {}

    /// Allows the caller to change base and header. Waits until no copy is in progress.
    [[nodiscard]] result<void> shut() const;
    /// shut() without waiting. False: a copy is in progress.
    [[nodiscard]] result<bool> try_shut() const;
    /// Prevents changes of base and header. Waits until no change is in progress.
    [[nodiscard]] result<void> hold() const;
    /// Releases either lock.
    void release() const noexcept;

   private:
    int fd_ = -1;
};

}  // namespace hf::journal
