#include "journal/copy_gate.hpp"

#include "base/os_error.hpp"
#include "journal/format.hpp"

#include <fcntl.h>

#include <cerrno>

namespace hf::journal {

namespace {

bool set(int fd, int command, short type) noexcept {
    struct flock byte{};
    byte.l_type = type;
    byte.l_whence = SEEK_SET;
    byte.l_start = static_cast<off_t>(gate_offset);
    byte.l_len = 1;
    while (::fcntl(fd, command, &byte) != 0) {
        if (errno != EINTR) return false;
    }
    return true;
}

result<void> wait_for(int fd, short type) {
    if (fd < 0 || set(fd, F_OFD_SETLKW, type)) return {};
    return failure(os_error(errc::io, "lock the journal", "the byte for copies",
                            "use a file system that supports open-file-description locks"));
}

}  // namespace

result<void> copy_gate::shut() const { return wait_for(fd_, F_WRLCK); }
result<void> copy_gate::hold() const { return wait_for(fd_, F_RDLCK); }

void copy_gate::release() const noexcept {
    if (fd_ >= 0) set(fd_, F_OFD_SETLK, F_UNLCK);
}

}  // namespace hf::journal
