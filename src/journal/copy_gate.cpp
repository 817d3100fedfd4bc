#include "journal/copy_gate.hpp"

#include "base/os_error.hpp"
#include "journal/format.hpp"

#include <fcntl.h>

#include <cerrno>

namespace hf::journal {

namespace {

/// 0, or why not.
int set(int fd, int command, short type) noexcept {
    struct flock byte{};
    byte.l_type = type;
    byte.l_whence = SEEK_SET;
    byte.l_start = static_cast<off_t>(gate_offset);
    byte.l_len = 1;
    while (::fcntl(fd, command, &byte) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

error not_locked() {
    return os_error(errc::io, "lock the journal", "the byte for copies",
                    "use a file system that supports open-file-description locks");
}

result<void> wait_for(int fd, short type) {
    if (fd < 0 || set(fd, F_OFD_SETLKW, type) == 0) return {};
    return failure(not_locked());
}

}  // namespace

result<void> copy_gate::shut() const { return wait_for(fd_, F_WRLCK); }

result<bool> copy_gate::try_shut() const {
    const int why = fd_ < 0 ? 0 : set(fd_, F_OFD_SETLK, F_WRLCK);
    if (why == EAGAIN || why == EACCES) return false;
    if (why != 0) return failure(not_locked());
    return true;
}

result<void> copy_gate::hold() const { return wait_for(fd_, F_RDLCK); }

void copy_gate::release() const noexcept {
    if (fd_ >= 0) set(fd_, F_OFD_SETLK, F_UNLCK);
}

}  // namespace hf::journal
