#include "journal/copy_gate.hpp"

#include "base/byte_lock.hpp"
#include "base/os_error.hpp"
#include "journal/format.hpp"

namespace hf::journal {

namespace {

error not_locked() {
    return os_error(errc::io, "lock the journal", "the byte for copies",
                    "use a file system that supports open-file-description locks");
}

result<void> wait_for(int fd, byte_lock kind) {
    if (fd < 0) return {};
    errno = set_byte_lock(fd, gate_offset, kind, true);
    if (errno == 0) return {};
    return failure(not_locked());
}

}  // namespace

result<void> copy_gate::shut() const { return wait_for(fd_, byte_lock::exclusive); }

result<bool> copy_gate::try_shut() const {
    errno = fd_ < 0 ? 0 : set_byte_lock(fd_, gate_offset, byte_lock::exclusive, false);
    if (errno == EAGAIN) return false;
    if (errno != 0) return failure(not_locked());
    return true;
}

result<void> copy_gate::hold() const { return wait_for(fd_, byte_lock::shared); }

void copy_gate::release() const noexcept {
    if (fd_ >= 0) (void)set_byte_lock(fd_, gate_offset, byte_lock::none, false);
}

}  // namespace hf::journal
