// base/byte_lock.hpp: a lock on one byte of an open file, seen by all who have opened it.
//
// An open-file-description lock: it belongs to the open file, tells two openings in one process
// apart, and ends with the process at the latest. The byte need not be there.
#pragma once

#include "base/bits.hpp"

#include <fcntl.h>

#include <cerrno>

namespace hf {

enum class byte_lock : short { shared = F_RDLCK, exclusive = F_WRLCK, none = F_UNLCK };

[[nodiscard]] inline struct flock lock_of(byte_lock kind, u64 offset) noexcept {
    struct flock byte{};
    byte.l_type = static_cast<short>(kind);
    byte.l_whence = SEEK_SET;
    byte.l_start = static_cast<off_t>(offset);
    byte.l_len = 1;
    return byte;
}

/// Locks a byte or lets go of it. 0, or errno: EAGAIN where another has it and we do not wait.
[[nodiscard]] inline int set_byte_lock(int fd, u64 offset, byte_lock kind, bool wait) noexcept {
    struct flock byte = lock_of(kind, offset);
    while (::fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &byte) != 0) {
        if (errno != EINTR) return errno == EACCES ? EAGAIN : errno;
    }
    return 0;
}

/// Whether another's lock is in the way of such a one.
[[nodiscard]] inline bool is_byte_locked(int fd, u64 offset, byte_lock against) noexcept {
    struct flock byte = lock_of(against, offset);
    return ::fcntl(fd, F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK;
}

}  // namespace hf
