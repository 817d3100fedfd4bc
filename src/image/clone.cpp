#include "image/clone.hpp"

#include "base/os_error.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
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

/// The next range with data at `at` or later; nullopt: there is none before the end of the file. A
/// file system that does not know its holes has one range.
std::optional<std::pair<u64, u64>> next_data(const file_handle& from, u64 at) {
    const off_t first = ::lseek(from.get(), static_cast<off_t>(at), SEEK_DATA);
    if (first < 0) {
        return errno == ENXIO ? std::nullopt : std::optional(std::pair(at, ~u64{0}));
    }
    const off_t end = ::lseek(from.get(), first, SEEK_HOLE);
    return std::pair(static_cast<u64>(first), end < 0 ? ~u64{0} : static_cast<u64>(end));
}

result<void> set_length(const file_handle& to, const std::string& to_name, u64 bytes) {
    while (::ftruncate(to.get(), static_cast<off_t>(bytes)) != 0) {
        if (errno == EINTR) continue;
        return failure(os_error(cloning, at_offset(to_name, bytes), "make room for the copy"));
    }
    return {};
}

tl::unexpected<error> ends_at(const std::string& from_name, u64 at) {
    return failure({errc::corrupt, cloning, at_offset(from_name, at), "the file ends there",
                    "restore it from a backup"});
}

class carrier {
   public:
    carrier(const file_handle& from, const std::string& from_name, const file_handle& to,
            const std::string& to_name, u64 total, const copy_progress& progress)
        : from_(from),
          from_name_(from_name),
          to_(to),
          to_name_(to_name),
          total_(total),
          progress_(progress) {}

    /// Copies [at, end).
    result<void> carry_range(u64 at, u64 end) {
        if (auto ok = allocate(to_, to_name_, at, end); !ok) return ok;
        while (at < end) {
            const auto n = carry_piece(at, std::min(piece, end - at));
            if (!n) return tl::unexpected(n.error());
            if (*n == 0) return ends_at(from_name_, at);
            at += *n;
            if (progress_) progress_(at, total_);
        }
        return {};
    }

   private:
    result<u64> carry_piece(u64 at, u64 most) {
        if (in_kernel_) {
            const auto done = carry_in_kernel(from_, to_, to_name_, at, most);
            if (!done) return tl::unexpected(done.error());
            in_kernel_ = done->has_value() && **done != 0;
            if (in_kernel_) return **done;
        }
        return carry(from_, from_name_, to_, to_name_, at, most);
    }

    const file_handle& from_;
    const std::string& from_name_;
    const file_handle& to_;
    const std::string& to_name_;
    u64 total_;
    const copy_progress& progress_;
    bool in_kernel_ = true;
};

}  // namespace

result<clone_facts> clone(const file_handle& from, const std::string& from_name,
                          const file_handle& to, const std::string& to_name, u64 bytes,
                          const copy_progress& progress) {
    const bool shares = ::ioctl(to.get(), FICLONE, from.get()) == 0;
    if (auto ok = set_length(to, to_name, bytes); !ok) return tl::unexpected(ok.error());
    if (shares) return clone_facts{bytes, true};
    const auto size = facts_of(from, from_name);
    if (!size) return tl::unexpected(size.error());
    carrier of(from, from_name, to, to_name, bytes, progress);
    u64 at = 0;
    while (at < bytes) {
        const auto data = next_data(from, at);
        if (!data || data->first >= bytes) break;
        at = std::min(data->second, bytes);
        if (auto ok = of.carry_range(data->first, at); !ok) return tl::unexpected(ok.error());
    }
    if (size->bytes < bytes) return ends_at(from_name, size->bytes);
    if (at < bytes && progress) progress(bytes, bytes);
    return clone_facts{bytes, false};
}

}  // namespace hf::detail
