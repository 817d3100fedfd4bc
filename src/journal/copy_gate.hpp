// journal/copy_gate.hpp: keeps the base file and the journal's header still while they are copied.
//
// Purpose. A copy of a region in use is made by another process, from the two files. It may be made
//  at any time but while old records are brought to the base: so whoever changes the base, or the
//  header that says where recovery begins, shuts the gate, and a copy holds it open. Epochs go on
//  being made durable meanwhile; only their application waits.
// How. A lock on one byte of the journal, far behind its end (format.hpp): shared for copies,
//  exclusive for changes. It belongs to the open file, so it ends with the process at the latest.
// What rests on it: X1 to X5 in image/copy.hpp.
#pragma once

#include <holdfast/result.hpp>

namespace hf::journal {

class copy_gate {
   public:
    /// Of a journal that nobody else can see: does nothing.
    copy_gate() = default;
    /// The caller keeps the descriptor open. Its lock is one, however many gates are made of it.
    explicit copy_gate(int fd) noexcept : fd_(fd) {}

    /// The base and the header may change from here on. Waits until no copy is under way.
    [[nodiscard]] result<void> shut() const;
    /// The same, if no copy is under way. False: there is one.
    [[nodiscard]] result<bool> try_shut() const;
    /// They do not change from here on. Waits until nobody is changing them.
    [[nodiscard]] result<void> hold() const;
    /// Ends either.
    void release() const noexcept;

   private:
    int fd_ = -1;
};

}  // namespace hf::journal
