#include "support/kernel.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <mutex>
#include <utility>
#include <vector>

namespace hf::test::kernel {
namespace {

struct {
    std::atomic<bool> is_on{false};
    std::recursive_mutex mutex;
    std::function<answer(const call&)> how;
    std::vector<call> calls;
    bool inside = false;
} script;

// Preserves the caller's errno.
answer next(call c) {
    if (!script.is_on) return {};
    const int kept = errno;
    const std::lock_guard lock(script.mutex);
    if (!script.is_on || std::exchange(script.inside, true)) return {};
    script.calls.push_back(std::move(c));
    const answer a = script.how ? script.how(call(script.calls.back())) : answer{};
    script.inside = false;
    errno = kept;
    return a;
}

}  // namespace

answered::answered(std::function<answer(const call&)> how) {
    script.how = std::move(how);
    script.calls.clear();
    script.is_on = true;
}

answered::~answered() { script.is_on = false; }

void answered::say(std::function<answer(const call&)> how) {
    const std::lock_guard lock(script.mutex);
    script.how = std::move(how);
}

void answered::forget() {
    const std::lock_guard lock(script.mutex);
    script.calls.clear();
}

aside::aside() : was_on_(script.is_on.exchange(false)) {}
aside::~aside() { script.is_on = was_on_; }

const std::vector<call>& answered::calls() const noexcept { return script.calls; }

u64 answered::count(std::string_view name) const noexcept {
    return static_cast<u64>(std::count_if(script.calls.begin(), script.calls.end(),
                                          [&](const call& c) { return c.name == name; }));
}

std::function<answer(const call&)> failing(std::string_view name, int error, u64 good) {
    return [name, error, good](const call& c) mutable -> answer {
        if (c.name != name) return {};
        if (good != 0) return --good, answer{};
        return {error};
    };
}

}  // namespace hf::test::kernel

// NOLINTBEGIN: names required by the linker.
using hf::u64;
using hf::test::kernel::answer;
using hf::test::kernel::call;

namespace {

/// The result of the call: `failed` with errno set, 0 for a lie, or the result of `real`, which
/// gets the maximum number of bytes.
template <class Real>
auto ask(call c, Real real, decltype(real(u64{})) failed = decltype(real(u64{}))(-1)) {
    const u64 size = c.size;
    const answer a = hf::test::kernel::next(std::move(c));
    if (a.error != 0 || a.old_error != 0) errno = a.error != 0 ? a.error : a.old_error;
    if (a.is_lie) return decltype(failed)(0);
    return a.error != 0 ? failed : real(std::min(size, a.most));
}

u64 address_of(const void* p) { return reinterpret_cast<u64>(p); }

}  // namespace

#define HF_ARGUMENT(last, type)           \
    va_list list;                         \
    va_start(list, last);                 \
    const auto more = va_arg(list, type); \
    va_end(list)

extern "C" {

int __real_open(const char*, int, ...);
int __wrap_open(const char* path, int flags, ...) {
    HF_ARGUMENT(flags, mode_t);
    return ask({"open", -1, 0, 0, flags, path},
               [&](u64) { return __real_open(path, flags, more); });
}

int __real_openat(int, const char*, int, ...);
int __wrap_openat(int at, const char* path, int flags, ...) {
    HF_ARGUMENT(flags, mode_t);
    return ask({"openat", at, 0, 0, flags, path},
               [&](u64) { return __real_openat(at, path, flags, more); });
}

int __real_fcntl(int, int, ...);
int __wrap_fcntl(int fd, int command, ...) {
    HF_ARGUMENT(command, void*);
    return ask({"fcntl", fd, 0, 0, command}, [&](u64) { return __real_fcntl(fd, command, more); });
}

int __real_ioctl(int, unsigned long, ...);
int __wrap_ioctl(int fd, unsigned long request, ...) {
    HF_ARGUMENT(request, void*);
    return ask({"ioctl", fd, 0, 0, static_cast<int>(request)},
               [&](u64) { return __real_ioctl(fd, request, more); });
}

#define HF_WRAPPED(type, name, parameters, arguments, ...)                              \
    type __real_##name parameters;                                                      \
    type __wrap_##name parameters {                                                     \
        return ask({#name, __VA_ARGS__},                                                \
                   [&]([[maybe_unused]] u64 most) { return __real_##name arguments; }); \
    }

HF_WRAPPED(int, lstat, (const char* path, struct stat* s), (path, s), -1, 0, 0, 0, path)
HF_WRAPPED(int, fstat, (int fd, struct stat* s), (fd, s), fd)
HF_WRAPPED(int, fchmod, (int fd, mode_t mode), (fd, mode), fd, 0, 0, static_cast<int>(mode))
HF_WRAPPED(int, fsync, (int fd), (fd), fd)
HF_WRAPPED(int, fdatasync, (int fd), (fd), fd)
HF_WRAPPED(int, posix_fadvise, (int fd, off_t from, off_t n, int advice), (fd, from, n, advice), fd,
           static_cast<u64>(from), static_cast<u64>(n), advice)
HF_WRAPPED(int, sync_file_range, (int fd, off_t from, off_t n, unsigned flags),
           (fd, from, n, flags), fd, static_cast<u64>(from), static_cast<u64>(n),
           static_cast<int>(flags))
HF_WRAPPED(int, ftruncate, (int fd, off_t n), (fd, n), fd, static_cast<u64>(n))
HF_WRAPPED(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence), fd, static_cast<u64>(at),
           0, whence)
HF_WRAPPED(int, fallocate, (int fd, int mode, off_t from, off_t n), (fd, mode, from, n), fd,
           static_cast<u64>(from), static_cast<u64>(n), mode)
HF_WRAPPED(ssize_t, pread, (int fd, void* p, size_t n, off_t at), (fd, p, most, at), fd,
           static_cast<u64>(at), n)
HF_WRAPPED(ssize_t, pwrite, (int fd, const void* p, size_t n, off_t at), (fd, p, most, at), fd,
           static_cast<u64>(at), n)

ssize_t __real_pwritev(int, const iovec*, int, off_t);
ssize_t __wrap_pwritev(int fd, const iovec* pieces, int n, off_t at) {
    std::vector<iovec> part(pieces, pieces + n);
    u64 total = 0;
    for (const iovec& one : part) total += one.iov_len;
    return ask({"pwritev", fd, static_cast<u64>(at), total}, [&](u64 most) {
        for (iovec& one : part) most -= one.iov_len = std::min<std::size_t>(one.iov_len, most);
        return __real_pwritev(fd, part.data(), n, at);
    });
}

HF_WRAPPED(ssize_t, copy_file_range,
           (int from, off_t* from_at, int to, off_t* to_at, size_t n, unsigned flags),
           (from, from_at, to, to_at, most, flags), to, static_cast<u64>(*to_at), n)
HF_WRAPPED(ssize_t, getrandom, (void* p, size_t n, unsigned flags), (p, most, flags), -1, 0, n)
HF_WRAPPED(int, unlink, (const char* path), (path), -1, 0, 0, 0, path)
HF_WRAPPED(int, link, (const char* from, const char* to), (from, to), -1, 0, 0, 0, to)
HF_WRAPPED(int, linkat, (int from_at, const char* from, int to_at, const char* to, int flags),
           (from_at, from, to_at, to, flags), to_at, 0, 0, flags, to)
HF_WRAPPED(int, rename, (const char* from, const char* to), (from, to), -1, 0, 0, 0, to)
HF_WRAPPED(int, renameat2,
           (int from_at, const char* from, int to_at, const char* to, unsigned flags),
           (from_at, from, to_at, to, flags), to_at, 0, 0, static_cast<int>(flags), to)
HF_WRAPPED(int, munmap, (void* p, size_t n), (p, n), -1, address_of(p), n)
HF_WRAPPED(int, madvise, (void* p, size_t n, int advice), (p, n, advice), -1, address_of(p), n,
           advice)

HF_WRAPPED(int, nanosleep, (const struct timespec* how_long, struct timespec* left),
           (how_long, left), -1, 0,
           static_cast<u64>(how_long->tv_sec) * 1'000'000'000 + static_cast<u64>(how_long->tv_nsec))

int __real_clock_gettime(clockid_t, struct timespec*);
int __wrap_clock_gettime(clockid_t clock, struct timespec* now) {
    const answer a = hf::test::kernel::next({"clock_gettime"});
    if (!a.is_lie) return __real_clock_gettime(clock, now);
    *now = {static_cast<time_t>(a.value / 1'000'000'000),
            static_cast<long>(a.value % 1'000'000'000)};
    return 0;
}

int __real_fstatfs(int, struct statfs*);
int __wrap_fstatfs(int fd, struct statfs* s) {
    const answer a = hf::test::kernel::next({"fstatfs", fd});
    if (a.is_lie) {
        *s = {};
        s->f_type = static_cast<long>(a.value);
        return 0;
    }
    if (a.error == 0) return __real_fstatfs(fd, s);
    errno = a.error;
    return -1;
}

void* __real_mmap(void*, size_t, int, int, int, off_t);
void* __wrap_mmap(void* at, size_t n, int prot, int flags, int fd, off_t offset) {
    return ask(
        {"mmap", fd, address_of(at), n, flags},
        [&](u64) { return __real_mmap(at, n, prot, flags, fd, offset); }, MAP_FAILED);
}
}
// NOLINTEND
