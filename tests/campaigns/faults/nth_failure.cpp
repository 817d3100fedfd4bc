#include "faults/nth_failure.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <new>

namespace hf::test::nth {

namespace {

std::atomic<kind> armed{kind::none};
std::atomic<u64> due{0};
std::atomic<u64> count{0};
std::atomic<const char*> failed{nullptr};
std::array<std::atomic<const char*>, most_names> names;

/// Whether this call has to fail; then errno is set.
bool is_due(kind what, const char* name, int error) noexcept {
    if (armed.load(std::memory_order_relaxed) != what) return false;
    const u64 n = count.fetch_add(1) + 1;
    if (n <= most_names) names[n - 1] = name;
    if (n != due.load()) return false;
    failed = name;
    errno = error;
    return true;
}

bool is_due(const char* name, int error) noexcept { return is_due(kind::system_call, name, error); }

}  // namespace

void arm(kind what, u64 n) noexcept {
    count = 0;
    failed = nullptr;
    due = n;
    armed = what;
}

u64 disarm() noexcept {
    armed = kind::none;
    return count;
}

const char* call_name(u64 i) noexcept { return i <= most_names ? names[i - 1].load() : nullptr; }

const char* failed_call() noexcept { return failed; }

namespace {

void* allocate(std::size_t size, std::size_t alignment) noexcept {
    if (is_due(kind::allocation, "operator new", ENOMEM)) return nullptr;
    if (alignment <= alignof(std::max_align_t)) return std::malloc(size != 0 ? size : 1);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment = 1) {
    if (void* p = allocate(size, alignment)) return p;
    throw std::bad_alloc();
}

}  // namespace
}  // namespace hf::test::nth

// NOLINTBEGIN: names required by the linker and the language.
using namespace hf::test::nth;

#define HF_WRAPPED(type, name, error, failure, parameters, arguments) \
    type __real_##name parameters;                                    \
    type __wrap_##name parameters {                                   \
        if (is_due(#name, error)) return failure;                     \
        return __real_##name arguments;                               \
    }

extern "C" {
HF_WRAPPED(void*, mmap, ENOMEM, MAP_FAILED,
           (void* at, size_t n, int prot, int flags, int fd, off_t offset),
           (at, n, prot, flags, fd, offset))
HF_WRAPPED(int, ftruncate, EIO, -1, (int fd, off_t n), (fd, n))
HF_WRAPPED(int, fallocate, ENOSPC, -1, (int fd, int mode, off_t from, off_t n), (fd, mode, from, n))
HF_WRAPPED(int, fsync, EIO, -1, (int fd), (fd))
HF_WRAPPED(int, fdatasync, EIO, -1, (int fd), (fd))
HF_WRAPPED(ssize_t, pwrite, ENOSPC, -1, (int fd, const void* p, size_t n, off_t at), (fd, p, n, at))
HF_WRAPPED(ssize_t, pwritev, ENOSPC, -1, (int fd, const iovec* v, int n, off_t at), (fd, v, n, at))
HF_WRAPPED(ssize_t, pread, EIO, -1, (int fd, void* p, size_t n, off_t at), (fd, p, n, at))
HF_WRAPPED(int, rename, EIO, -1, (const char* from, const char* to), (from, to))
HF_WRAPPED(int, renameat2, EIO, -1,
           (int from_at, const char* from, int to_at, const char* to, unsigned flags),
           (from_at, from, to_at, to, flags))
HF_WRAPPED(int, link, EIO, -1, (const char* from, const char* to), (from, to))
HF_WRAPPED(int, linkat, EIO, -1,
           (int from_at, const char* from, int to_at, const char* to, int flags),
           (from_at, from, to_at, to, flags))
HF_WRAPPED(int, unlink, EIO, -1, (const char* name), (name))
HF_WRAPPED(int, fchmod, EIO, -1, (int fd, mode_t mode), (fd, mode))
HF_WRAPPED(int, fstat, EIO, -1, (int fd, struct stat* s), (fd, s))

int __real_open(const char* name, int flags, ...);
int __wrap_open(const char* name, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const auto mode = va_arg(list, mode_t);
    va_end(list);
    if (is_due("open", EMFILE)) return -1;
    return __real_open(name, flags, mode);
}

int __real_openat(int at, const char* name, int flags, ...);
int __wrap_openat(int at, const char* name, int flags, ...) {
    va_list list;
    va_start(list, flags);
    const auto mode = va_arg(list, mode_t);
    va_end(list);
    if (is_due("openat", EMFILE)) return -1;
    return __real_openat(at, name, flags, mode);
}
}

void* operator new(std::size_t n) { return allocate_or_throw(n); }
void* operator new[](std::size_t n) { return allocate_or_throw(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) {
    return allocate_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
    return allocate_or_throw(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
// NOLINTEND
