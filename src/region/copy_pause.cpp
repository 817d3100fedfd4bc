#include "region/copy_pause.hpp"

#include "base/byte_lock.hpp"
#include "base/os_error.hpp"

namespace hf::detail {

bool copy_pause::is_asked() const noexcept {
    return is_byte_locked(fd_, ask_offset, byte_lock::exclusive);
}

void copy_pause::keep_still() const noexcept {
    if (set_byte_lock(fd_, still_offset, byte_lock::exclusive, false) != 0) return;
    const int waited = set_byte_lock(fd_, ask_offset, byte_lock::exclusive, true);
    // First, so that a copy that has just locked ASK does not take it for an answer (Y1).
    (void)set_byte_lock(fd_, still_offset, byte_lock::none, false);
    if (waited == 0) (void)set_byte_lock(fd_, ask_offset, byte_lock::none, false);
}

result<void> copy_pause::ask() const {
    errno = set_byte_lock(fd_, ask_offset, byte_lock::shared, true);
    if (errno == 0) return {};
    return failure(os_error(errc::io, "lock the region", "the byte that asks for a pause",
                            "use a file system that supports open-file-description locks"));
}

bool copy_pause::is_still() const noexcept {
    return is_byte_locked(fd_, still_offset, byte_lock::shared);
}

void copy_pause::release() const noexcept {
    (void)set_byte_lock(fd_, ask_offset, byte_lock::none, false);
}

}  // namespace hf::detail
