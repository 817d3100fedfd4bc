#include "crashlab/runtime/file.hpp"

#include "base/check.hpp"
#include "crashlab/explore/image.hpp"
#include "crashlab/trace/recorder.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

namespace hf::lab {
constinit file_state the_file;
}

namespace {

using namespace hf::lab;
using hf::u64;

constexpr int file_number = 1 << 20;
constexpr int directory_number = file_number + static_cast<int>(most_files);
constexpr unsigned no_file = most_files;

bool is_active() { return the_file.memory != nullptr; }
bool is_directory(int fd) { return is_active() && fd == directory_number; }
bool is_ours(int fd) { return is_active() && fd >= file_number && fd <= directory_number; }
bool is_our_directory(const char* path) { return is_active() && std::strcmp(path, "/lab") == 0; }

/// no_file: not one of the lab's files.
unsigned file_of(int fd) {
    return is_ours(fd) && !is_directory(fd) ? static_cast<unsigned>(fd - file_number) : no_file;
}
unsigned file_called(const char* path) {
    unsigned f = 0;
    while (f < most_files && std::strcmp(path, file_paths[f]) != 0) ++f;
    if (the_file.has_journal && std::strcmp(path, "/lab/region.journal") == 0) f = 1;
    if (!is_active()) return no_file;
    if (f != no_file) the_file.asked_for = f;
    return f;
}

/// The recorder of the running trace; nullptr: none.
recorder* writer() {
    return the_file.exploring != nullptr ? the_file.exploring->behind() : the_file.recording;
}
u64 length(unsigned file) {
    return the_file.exploring != nullptr ? the_file.exploring->file_length(file)
                                         : the_file.files[file].length;
}
void set_length(unsigned file, u64 bytes) {
    if (the_file.exploring != nullptr) return the_file.exploring->set_file_length(file, bytes);
    the_file.files[file].length = bytes;
    if (writer() != nullptr) writer()->mark(event_kind::length, bytes, file);
}
bool linked(unsigned file) {
    return the_file.exploring != nullptr ? the_file.exploring->file_linked(file)
                                         : the_file.files[file].linked;
}
void set_linked(unsigned file) {
    if (the_file.exploring != nullptr) return the_file.exploring->set_file_linked(file);
    the_file.files[file].linked = true;
    if (writer() != nullptr) writer()->mark(event_kind::link, 1, file);
}
void write(u64 place, const std::byte* from, u64 size) {
    if (the_file.exploring != nullptr) the_file.exploring->touch(place, size);
    if (writer() != nullptr) {
        writer()->file_write(place, from, size);
    } else {
        unseen_copy(the_file.memory + offset_of(place), from, size);
    }
}

int refuse(int why) {
    errno = why;
    return -1;
}

int describe(unsigned file, struct stat* s) {
    *s = {};
    s->st_mode = S_IFREG | 0600;
    s->st_uid = ::geteuid();
    s->st_nlink = 1;
    s->st_size = static_cast<off_t>(length(file));
    s->st_blocks = (s->st_size + 511) / 512;
    return 0;
}

template <class... A>
long real(long number, A... arguments) {
    return ::syscall(number, arguments...);
}

bool in_our_memory(const void* p) {
    const u64 offset = reinterpret_cast<u64>(p) - reinterpret_cast<u64>(the_file.memory);
    return is_active() && offset < most_files * file_stride &&
           (offset & (file_stride - 1)) < file_capacity;
}

}  // namespace

// NOLINTBEGIN: the names are libc's.
extern "C" {

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if (is_our_directory(path)) return directory_number;
    if (const unsigned f = file_called(path); f != no_file) {
        return linked(f) ? file_number + static_cast<int>(f) : refuse(ENOENT);
    }
    return static_cast<int>(real(SYS_openat, AT_FDCWD, path, flags, mode));
}

int openat(int directory, const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if (is_ours(directory)) {
        set_length(the_file.asked_for, 0);
        return file_number + static_cast<int>(the_file.asked_for);
    }
    return static_cast<int>(real(SYS_openat, directory, path, flags, mode));
}

int close(int fd) { return is_ours(fd) ? 0 : static_cast<int>(real(SYS_close, fd)); }

int lstat(const char* path, struct stat* s) {
    if (const unsigned f = file_called(path); f != no_file) {
        return linked(f) ? describe(f, s) : refuse(ENOENT);
    }
    return static_cast<int>(real(SYS_lstat, path, s));
}

int fstat(int fd, struct stat* s) {
    return file_of(fd) != no_file ? describe(file_of(fd), s)
                                  : static_cast<int>(real(SYS_fstat, fd, s));
}

int fstatfs(int fd, struct statfs* s) {
    if (!is_ours(fd)) return static_cast<int>(real(SYS_fstatfs, fd, s));
    *s = {};
    s->f_type = the_file.is_tmpfs ? TMPFS_MAGIC : EXT4_SUPER_MAGIC;
    return 0;
}

int fcntl(int fd, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* argument = va_arg(rest, void*);
    va_end(rest);
    return is_ours(fd) ? 0 : static_cast<int>(real(SYS_fcntl, fd, command, argument));
}

int fchmod(int fd, mode_t mode) {
    return is_ours(fd) ? 0 : static_cast<int>(real(SYS_fchmod, fd, mode));
}

int fallocate(int fd, int mode, off_t from, off_t size) {
    if (!is_ours(fd)) return static_cast<int>(real(SYS_fallocate, fd, mode, from, size));
    const auto end = static_cast<u64>(from + size);
    if (end > file_capacity) return refuse(ENOSPC);
    if (end > length(file_of(fd))) set_length(file_of(fd), end);
    return 0;
}

int ftruncate(int fd, off_t size) {
    if (!is_ours(fd)) return static_cast<int>(real(SYS_ftruncate, fd, size));
    set_length(file_of(fd), static_cast<u64>(size));
    return 0;
}

int fsync(int fd) {
    if (!is_ours(fd)) return static_cast<int>(real(SYS_fsync, fd));
    if (writer() == nullptr) return 0;
    if (is_directory(fd)) {
        writer()->mark(event_kind::sync_name, 0);
    } else {
        writer()->mark(event_kind::sync, 0, file_of(fd));
    }
    return 0;
}

int fdatasync(int fd) {
    return is_ours(fd) ? fsync(fd) : static_cast<int>(real(SYS_fdatasync, fd));
}

// No target removes a file.
int unlink(const char* path) noexcept {
    if (const unsigned f = file_called(path); f != no_file) {
        return refuse(linked(f) ? EPERM : ENOENT);
    }
    return static_cast<int>(real(SYS_unlink, path));
}

int linkat(int from, const char* path, int to, const char* name, int flags) {
    if (!is_ours(to)) return static_cast<int>(real(SYS_linkat, from, path, to, name, flags));
    if (linked(the_file.asked_for)) return refuse(EEXIST);
    set_linked(the_file.asked_for);
    return 0;
}

ssize_t pread(int fd, void* into, size_t size, off_t at) {
    if (!is_ours(fd)) return real(SYS_pread64, fd, into, size, at);
    const u64 end = length(file_of(fd));
    const u64 begin = file_of(fd) * file_capacity;
    const auto from = static_cast<u64>(at);
    if (from >= end) return 0;
    const u64 n = size < end - from ? size : end - from;
    if (the_file.exploring != nullptr) the_file.exploring->reading(begin + from, n, 0, false);
    unseen_copy(into, the_file.memory + offset_of(begin + from), n);
    return static_cast<ssize_t>(n);
}

ssize_t pwrite(int fd, const void* from, size_t size, off_t at) {
    if (!is_ours(fd)) return real(SYS_pwrite64, fd, from, size, at);
    write(file_of(fd) * file_capacity + static_cast<u64>(at), static_cast<const std::byte*>(from),
          size);
    return static_cast<ssize_t>(size);
}

ssize_t pwritev(int fd, const struct iovec* pieces, int count, off_t at) {
    if (!is_ours(fd)) return real(SYS_pwritev, fd, pieces, count, at, 0);
    ssize_t written = 0;
    for (int i = 0; i < count; ++i) {
        written += pwrite(fd, pieces[i].iov_base, pieces[i].iov_len, at + written);
    }
    return written;
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
    // The lab's memory stays in place; a probe of the file gets other memory.
    if (at != nullptr && in_our_memory(at)) {
        const u64 away = reinterpret_cast<u64>(at) - reinterpret_cast<u64>(the_file.memory);
        HF_CHECK(file_of(fd) == no_file || file_of(fd) == away >> file_stride_bits,
                 "the lab's files must be opened in their order, file_paths[0] first");
        if (the_file.mappings_to_refuse == 0 || (protection & PROT_WRITE) == 0) return at;
        --the_file.mappings_to_refuse;
        errno = ENOMEM;
        return MAP_FAILED;
    }
    const unsigned file = file_of(fd);
    const auto map = [&](int how, int descriptor) {
        return reinterpret_cast<void*>(
            real(SYS_mmap, at, size, protection, how, descriptor, descriptor < 0 ? 0 : offset));
    };
    if (file == no_file) return map(flags, fd);
    const bool is_synchronous = (flags & MAP_SYNC) != 0;
    if (is_synchronous && the_file.is_tmpfs) {
        errno = EOPNOTSUPP;
        return MAP_FAILED;
    }
    const bool is_written = (protection & PROT_WRITE) != 0;
    const bool is_private = (flags & MAP_TYPE) == MAP_PRIVATE;
    const u64 begin = file * file_capacity + static_cast<u64>(offset);
    if (is_written && !is_private) return the_file.memory + offset_of(begin);
    void* const copy = map(MAP_PRIVATE | MAP_ANONYMOUS | (flags & (MAP_FIXED | MAP_NORESERVE)), -1);
    if (copy == MAP_FAILED || !is_written) return copy;
    pread(fd, copy, size, offset);
    return copy;
}

int munmap(void* at, size_t size) noexcept {
    return in_our_memory(at) ? 0 : static_cast<int>(real(SYS_munmap, at, size));
}

int madvise(void* at, size_t size, int advice) noexcept {
    return in_our_memory(at) ? 0 : static_cast<int>(real(SYS_madvise, at, size, advice));
}

}  // extern "C"
// NOLINTEND
