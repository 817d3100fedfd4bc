#include "region/file.hpp"

#include "base/os_error.hpp"
#include "persist/detect.hpp"
#include "persist/persist_point.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hf::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* opening_file = "open the region";
constexpr const char* creating = "create the region";

tl::unexpected<error> unsafe(const std::string& path, std::string why, std::string next) {
    return failure({errc::unsafe_file, opening_file, path, std::move(why), std::move(next)});
}

result<void> check_type(const struct stat& s, const std::string& path) {
    const char* what = nullptr;
    switch (s.st_mode & S_IFMT) {
        case S_IFREG:
            return {};
        case S_IFLNK:
            return unsafe(path, "it is a symbolic link, and links are not followed",
                          "name the file that the link points to");
        case S_IFDIR:
            what = "a directory";
            break;
        case S_IFIFO:
            what = "a FIFO";
            break;
        case S_IFSOCK:
            what = "a socket";
            break;
        default:
            what = "a device";
            break;
    }
    return unsafe(path, std::string("it is ") + what + ", not a regular file",
                  "name a region file, or a new one");
}

/// Root may read any user's region. It may not write to one: a journal that root made beside it
/// would belong to root, and the owner could no longer open the region.
result<void> check_owner(const struct stat& s, const std::string& path, bool writable) {
    const uid_t mine = ::geteuid();
    const bool may_open = s.st_uid == mine || (mine == 0 && !writable);
    if (!may_open) {
        const std::string owner = std::to_string(s.st_uid);
        return unsafe(path,
                      "it belongs to user " + owner + ", not to user " + std::to_string(mine) +
                          " who opens it" + (mine == 0 ? " for writing" : ""),
                      mine == 0 ? "run as its owner (sudo -u '#" + owner + "'), or chown the file"
                                : "run as its owner, or chown the file");
    }
    if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return unsafe(path, "others than its owner may write to it", "chmod go-w the file");
    }
    return {};
}

result<void> lock(const file_handle& file, const std::string& path, bool writable) {
    struct flock whole{};
    whole.l_type = writable ? F_WRLCK : F_RDLCK;
    whole.l_whence = SEEK_SET;
    whole.l_len = static_cast<off_t>(locked_bytes);
    if (::fcntl(file.get(), F_OFD_SETLK, &whole) == 0) return {};
    if (errno == EAGAIN || errno == EACCES) {
        return failure({errc::busy, opening_file, path,
                        writable ? "it is open already, in another process or in this one"
                                 : "it is open for writing, in another process or in this one",
                        "stop the process that uses it first"});
    }
    return failure(os_error(errc::io, "lock the region", path,
                            "use a file system that supports open-file-description locks"));
}

file_handle open_directory_of(const fs::path& path) {
    const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
    return file_handle(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

file_handle::~file_handle() {
    if (fd_ >= 0) ::close(fd_);
}

namespace {

result<file_handle> open_safely(const fs::path& path, bool writable) {
    const std::string name = path.string();
    struct stat s{};
    // Checked first, so that a device is not even opened; checked again below for the file that was
    // really opened.
    if (::lstat(path.c_str(), &s) != 0) {
        return failure(
            os_error(opening_file, name, "check the path and the rights on its directories"));
    }
    if (auto ok = check_type(s, name); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_owner(s, name, writable); !ok) return tl::unexpected(ok.error());

    file_handle file(::open(path.c_str(), (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK |
                                              O_NOCTTY | O_CLOEXEC));
    if (!file.is_open()) {
        if (errno == ELOOP) return unsafe(name, "it is a symbolic link", "name the file itself");
        return failure(os_error(opening_file, name, "check the rights on the file"));
    }
    if (::fstat(file.get(), &s) != 0) {
        return failure(os_error(errc::io, opening_file, name, "check the file system"));
    }
    if (auto ok = check_type(s, name); !ok) return tl::unexpected(ok.error());
    if (auto ok = check_owner(s, name, writable); !ok) return tl::unexpected(ok.error());
    return file;
}

}  // namespace

result<file_handle> open_file(const fs::path& path, bool writable) {
    auto file = open_safely(path, writable);
    if (!file) return file;
    if (auto ok = lock(*file, path.string(), writable); !ok) return tl::unexpected(ok.error());
    return file;
}

result<file_handle> open_beside_readers(const fs::path& path) {
    auto file = open_safely(path, true);
    if (!file) return file;
    if (auto ok = lock(*file, path.string(), false); !ok) return tl::unexpected(ok.error());
    return file;
}

result<void> lock_alone(const file_handle& file, const fs::path& path) {
    return lock(file, path.string(), true);
}

result<file_handle> open_unlocked(const fs::path& path) { return open_safely(path, false); }

bool has_name(const file_handle& file) noexcept {
    struct stat s{};
    return ::fstat(file.get(), &s) != 0 || s.st_nlink != 0;
}

bool is_at(const file_handle& file, const fs::path& path) noexcept {
    struct stat open{};
    struct stat named{};
    return ::fstat(file.get(), &open) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

result<file_handle> create_unnamed(const fs::path& path) {
    const std::string name = path.string();
    if (!path.has_filename()) {
        return failure(
            {errc::usage, creating, name, "the path names no file", "give the path of a file"});
    }
    const file_handle directory = open_directory_of(path);
    if (!directory.is_open()) {
        return failure(
            os_error(creating, name, "make its directory first, with rights for this user"));
    }
    file_handle file(::openat(directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!file.is_open()) {
        if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) {
            return failure({errc::medium, creating, name,
                            "the file system (" + file_system_name(directory.get()) +
                                ") can make no unnamed file",
                            "use a path on tmpfs, such as /dev/shm, or on a mount with -o dax"});
        }
        return failure(os_error(creating, name, "check the rights and the space in its directory"));
    }
    // The owner must be able to open it again, whatever the umask.
    if (::fchmod(file.get(), 0600) != 0) {
        return failure(os_error(errc::io, creating, name, "check the file system"));
    }
    if (auto ok = lock(file, name, true); !ok) return tl::unexpected(ok.error());
    return file;
}

namespace {

result<void> sync_names(const file_handle& directory, const std::string& name) {
    if (directory.is_open() && ::fsync(directory.get()) == 0) return {};
    return failure(os_error(errc::io, "sync the directory of the region", name,
                            "do not trust the file; check the device"));
}

}  // namespace

result<void> sync_directory_of(const fs::path& path) {
    return sync_names(open_directory_of(path), path.string());
}

result<void> publish(const file_handle& file, const fs::path& path) {
    const std::string name = path.string();
    if (auto ok = sync(file, name); !ok) return ok;
    HF_PERSIST_POINT("region C2: header and size durable before the file gets its name");
    const std::string self = "/proc/self/fd/" + std::to_string(file.get());
    const file_handle directory = open_directory_of(path);
    if (!directory.is_open()) {
        return failure(os_error(creating, name, "check the rights on its directory"));
    }
    if (::linkat(AT_FDCWD, self.c_str(), directory.get(), path.filename().c_str(),
                 AT_SYMLINK_FOLLOW) != 0) {
        if (errno == EEXIST) {
            return failure({errc::usage, creating, name, "there is a file of this name already",
                            "open it, or choose another name"});
        }
        if (errno == ENOENT) {
            return failure({errc::io, creating, name,
                            "its directory has vanished, or /proc is not mounted", "mount /proc"});
        }
        return failure(os_error(creating, name, "check the rights on its directory"));
    }
    HF_PERSIST_POINT("region C3: file named before the directory is synced");
    if (auto ok = sync_names(directory, name); !ok) return ok;
    HF_PERSIST_POINT("region C4: name durable before the region is used");
    return {};
}

result<void> remove_stale(const fs::path& path) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return failure(os_error("remove the file", path.string(), "check the rights on its directory"));
}

bool is_taken(const fs::path& path) noexcept {
    struct stat s{};
    return ::lstat(path.c_str(), &s) == 0;
}

result<file_facts> facts_of(const file_handle& file, const std::string& path) {
    struct stat s{};
    if (::fstat(file.get(), &s) != 0) {
        return failure(os_error(errc::io, opening_file, path, "check the file system"));
    }
    return file_facts{static_cast<u64>(s.st_size), static_cast<u64>(s.st_blocks) * 512};
}

result<void> allocate(const file_handle& file, const std::string& path, u64 from, u64 to) {
    int refused = 0;
    do {
        // Not posix_fallocate, which would write into the file if the file system cannot
        // allocate.
        refused =
            ::fallocate(file.get(), 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) == 0
                ? 0
                : errno;
    } while (refused == EINTR);
    if (refused == 0) return {};
    errno = refused;
    const std::string what = "allocate " + std::to_string(to - from) + " bytes for the region";
    if (refused == EOPNOTSUPP) {
        return failure(
            os_error(errc::medium, what, at_offset(path, from), "use another file system"));
    }
    return failure(os_error(what, at_offset(path, from),
                            "make room on the file system; the region is as it was"));
}

result<void> truncate(const file_handle& file, const std::string& path, u64 bytes) {
    while (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
        if (errno == EINTR) continue;
        return failure(os_error(errc::io, "cut the region back", at_offset(path, bytes),
                                "check the file system"));
    }
    return {};
}

result<void> sync(const file_handle& file, const std::string& path) {
    if (::fsync(file.get()) == 0) return {};
    return failure(os_error(errc::io, "sync the region", path,
                            "do not trust the file; check the device and restore a backup"));
}

result<void> read_start(const file_handle& file, const std::string& path,
                        std::span<std::byte> into) {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t n =
            ::pread(file.get(), into.data() + done, into.size() - done, static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            return failure(os_error(errc::io, "read the region's header", at_offset(path, done),
                                    "check the device"));
        }
        if (n == 0) {
            return failure({errc::corrupt, "read the region's header", at_offset(path, done),
                            "the file ends there", "restore it from a backup"});
        }
        done += static_cast<std::size_t>(n);
    }
    return {};
}

result<void> write_start(const file_handle& file, const std::string& path,
                         std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::pwrite(file.get(), bytes.data() + done, bytes.size() - done,
                                   static_cast<off_t>(done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            return failure(os_error(creating, at_offset(path, done), "check the device"));
        }
        done += static_cast<std::size_t>(n);
    }
    return {};
}

}  // namespace hf::detail
