#include "image/clone.hpp"

#include "base/os_error.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

namespace hf::detail {
namespace {

constexpr const char* cloning = "copy the region";
constexpr u64 piece = u64{32} << 20;
constexpr u64 small_piece = u64{1} << 20;

/// Copies by reading and writing. Returns the number of bytes; 0: the end of `from`.
result<u64> carry(const file_handle& from, const std::string& from_name, const file_handle& to,
                  const std::string& to_name, u64 at, u64 most) {
    std::vector<char> buffer(std::min(most, small_piece));
    const ssize_t got = ::pread(from.get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) return carry(from, from_name, to, to_name, at, most);
    if (got < 0) {
        return failure(os_error(errc::io, cloning, at_offset(from_name, at), "check the device"));
    }
    for (ssize_t done = 0; done < got;) {
        const ssize_t n =
            ::pwrite(to.get(), buffer.data() + done, static_cast<std::size_t>(got - done),
                     static_cast<off_t>(at) + done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            return failure(os_error(cloning, at_offset(to_name, at), "make room for the copy"));
        }
        done += n;
    }
    return static_cast<u64>(got);
}

/// nullopt: the kernel does not copy between these files.
result<std::optional<u64>> carry_in_kernel(const file_handle& from, const file_handle& to,
                                           const std::string& to_name, u64 at, u64 most) {
    auto source = static_cast<loff_t>(at);
    auto target = source;
    const ssize_t n = ::copy_file_range(from.get(), &source, to.get(), &target, most, 0);
    if (n >= 0) return static_cast<u64>(n);
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO) {
        return failure(os_error(cloning, at_offset(to_name, at), "make room for the copy"));
    }
    return std::nullopt;
}

}  // namespace

result<clone_facts> clone(const file_handle& from, const std::string& from_name,
                          const file_handle& to, const std::string& to_name, u64 bytes,
                          const copy_progress& progress) {
    if (::ioctl(to.get(), FICLONE, from.get()) == 0) {
        if (auto ok = truncate(to, to_name, bytes); !ok) return tl::unexpected(ok.error());
        return clone_facts{bytes, true};
    }
    if (auto ok = allocate(to, to_name, 0, bytes); !ok) return tl::unexpected(ok.error());
    bool in_kernel = true;
    u64 at = 0;
    while (at < bytes) {
        const u64 most = std::min(piece, bytes - at);
        u64 n = 0;
        if (in_kernel) {
            const auto done = carry_in_kernel(from, to, to_name, at, most);
            if (!done) return tl::unexpected(done.error());
            in_kernel = done->has_value() && **done != 0;
            n = done->value_or(0);
        }
        if (!in_kernel) {
            const auto done = carry(from, from_name, to, to_name, at, most);
            if (!done) return tl::unexpected(done.error());
            n = *done;
        }
        if (n == 0) {
            return failure({errc::corrupt, cloning, at_offset(from_name, at), "the file ends there",
                            "restore it from a backup"});
        }
        at += n;
        if (progress) progress(at, bytes);
    }
    return clone_facts{at, false};
}

}  // namespace hf::detail
