#include "journal/block_file.hpp"

#include "base/lock_order.hpp"
#include "base/os_error.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace hf::journal {

namespace {

constexpr std::size_t max_pieces = 8;

result<void> write_all(int fd, u64 offset, std::span<const std::byte> bytes,
                       const std::string& name) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::pwrite(fd, bytes.data() + done, bytes.size() - done,
                                   static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            return failure(os_error("write to the file", at_offset(name, offset + done),
                                    "check the device and the space on it"));
        }
        done += static_cast<std::size_t>(n);
    }
    return {};
}

}  // namespace

result<void> posix_file::write(u64 offset, std::span<const std::span<const std::byte>> pieces) {
    std::array<iovec, max_pieces> list{};
    const auto first = pieces.first(std::min(pieces.size(), max_pieces));
    std::transform(first.begin(), first.end(), list.begin(), [](const auto& piece) {
        return iovec{const_cast<std::byte*>(piece.data()), piece.size()};
    });
    const ssize_t n =
        ::pwritev(fd_, list.data(), static_cast<int>(first.size()), static_cast<off_t>(offset));
    // Write the pieces that the kernel did not take one by one, with their own errors.
    auto taken = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    for (const auto& piece : pieces) {
        const std::size_t skipped = std::min(taken, piece.size());
        auto ok = write_all(fd_, offset + skipped, piece.subspan(skipped), name_);
        if (!ok) return ok;
        taken -= skipped;
        offset += piece.size();
    }
    return {};
}

result<void> posix_file::read(u64 offset, std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t n =
            ::pread(fd_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            return failure(os_error(errc::io, "read the file", at_offset(name_, offset + done),
                                    "check the device"));
        }
        if (n == 0) {
            return failure({errc::corrupt, "read the file", at_offset(name_, offset + done),
                            "the file ends there", "restore it from a backup"});
        }
        done += static_cast<std::size_t>(n);
    }
    return {};
}

result<void> posix_file::sync() {
    const ranked_guard lock(lock_rank::journal_file, sync_mutex_);
    if (!has_failed_ && ::fdatasync(fd_) == 0) return {};
    if (std::exchange(has_failed_, true)) errno = EIO;
    return failure(os_error(errc::io, "sync the file", name_,
                            "do not trust what was written last; check the device"));
}

void posix_file::begin_read(u64 offset, u64 bytes) noexcept {
    (void)::posix_fadvise(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                          POSIX_FADV_WILLNEED);
}

// Flags that wait would consume a write-back error, which must be reported by fdatasync(2).
void posix_file::begin_write_back(u64 offset, u64 bytes) noexcept {
    (void)::sync_file_range(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes),
                            SYNC_FILE_RANGE_WRITE);
}

result<void> posix_file::extend(u64 bytes) {
    const auto now = size();
    if (!now) return tl::unexpected(now.error());
    if (*now >= bytes) return {};
    while (::fallocate(fd_, 0, static_cast<off_t>(*now), static_cast<off_t>(bytes - *now)) != 0) {
        if (errno == EINTR) continue;
        return failure(os_error("allocate " + std::to_string(bytes - *now) + " bytes",
                                at_offset(name_, *now), "make room on the file system"));
    }
    return {};
}

result<u64> posix_file::size() {
    struct stat s{};
    if (::fstat(fd_, &s) == 0) return static_cast<u64>(s.st_size);
    return failure(os_error(errc::io, "inspect the file", name_, "check the file system"));
}

}  // namespace hf::journal
