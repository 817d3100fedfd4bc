// A library that is loaded before the C library (LD_PRELOAD) and makes the disk fail: while
// $HF_FAULTS/no_space exists, nothing can be written to $HF_FAULTS/store.hf.journal or allocated
// for it, as on a full file system that never overwrites; while $HF_FAULTS/broken exists, the disk
// takes nothing there at all; while $HF_FAULTS/sync exists, every sync fails; while
// $HF_FAULTS/names exists, that of a directory does; while $HF_FAULTS/rival exists, a file comes to
// each name just before another is renamed to it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

bool is_on(const char* fault) {
    const char* const where = std::getenv("HF_FAULTS");
    if (where == nullptr) return false;
    const int kept = errno;
    const bool on = ::access((std::string(where) + "/" + fault).c_str(), F_OK) == 0;
    errno = kept;
    return on;
}

/// Identified by its inode: a file created without a name never shows its later name.
bool is_journal(int fd) {
    struct stat open{};
    struct stat named{};
    const int kept = errno;
    const std::string name = std::string(std::getenv("HF_FAULTS")) + "/store.hf.journal";
    const bool is = ::fstat(fd, &open) == 0 && ::stat(name.c_str(), &named) == 0 &&
                    open.st_ino == named.st_ino && open.st_dev == named.st_dev;
    errno = kept;
    return is;
}

/// The error for a write to this file; 0: it is written.
int why_not_written(int fd) {
    for (const auto& [fault, code] : {std::pair{"no_space", ENOSPC}, std::pair{"broken", EIO}}) {
        if (is_on(fault) && is_journal(fd)) return code;
    }
    return 0;
}

bool is_directory(int fd) {
    struct stat s{};
    const int kept = errno;
    const bool is = ::fstat(fd, &s) == 0 && S_ISDIR(s.st_mode);
    errno = kept;
    return is;
}

template <class F>
F real(F, const char* name) {
    return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}

int failing(int code) {
    errno = code;
    return -1;
}

}  // namespace

extern "C" {

ssize_t pwrite(int fd, const void* bytes, size_t n, off_t at) {
    if (const int code = why_not_written(fd)) return failing(code);
    return real(&pwrite, "pwrite")(fd, bytes, n, at);
}

ssize_t pwritev(int fd, const iovec* pieces, int n, off_t at) {
    if (const int code = why_not_written(fd)) return failing(code);
    return real(&pwritev, "pwritev")(fd, pieces, n, at);
}

int fallocate(int fd, int mode, off_t at, off_t n) {
    if (const int code = why_not_written(fd)) return failing(code);
    return real(&fallocate, "fallocate")(fd, mode, at, n);
}

int fdatasync(int fd) {
    if (is_on("sync")) return failing(EIO);
    return real(&fdatasync, "fdatasync")(fd);
}

int fsync(int fd) {
    if (is_on("sync") || (is_on("names") && is_directory(fd))) return failing(EIO);
    return real(&fsync, "fsync")(fd);
}

int renameat2(int from_in, const char* from, int to_in, const char* to, unsigned how) {
    if (is_on("rival")) ::close(::openat(to_in, to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return real(&renameat2, "renameat2")(from_in, from, to_in, to, how);
}
}
