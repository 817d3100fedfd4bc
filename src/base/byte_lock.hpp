// base/byte_lock.hpp: a lock on one byte of an open file, visible to all processes that opened it.
//
// An open-file-description lock: it belongs to the open file, also excludes a second open in the
// same process, and ends with the process at the latest. The byte may be past the file's end.
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

/// Acquires or releases the lock. Returns 0, or errno: EAGAIN if it is taken and `wait` is false.
[[nodiscard]] inline int set_byte_lock(int fd, u64 offset, byte_lock kind, bool wait) noexcept {
    struct flock byte = lock_of(kind, offset);
    while (::fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &byte) != 0) {
        if (errno != EINTR) return errno == EACCES ? EAGAIN : errno;
    }
    return 0;
}

/// True if another open file holds a lock that conflicts with `against`.
[[nodiscard]] inline bool is_byte_locked(int fd, u64 offset, byte_lock against) noexcept {
    struct flock byte = lock_of(against, offset);
    return ::fcntl(fd, F_OFD_GETLK, &byte) == 0 && byte.l_type != F_UNLCK;
}

}  // namespace hf
