#include "kernel.hpp"

#include <cerrno>
#include <cstdarg>

// NOLINTBEGIN: the names are the linker's.
namespace {

/// -1, with errno set, if it is to fail. Otherwise errno is what some earlier call has left there.
template <class Real>
auto ask(const hf::test::call& c, Real real) {
    const hf::test::answer a = hf::test::kernel.next(c);
    errno = a.error == 0 ? EINTR : a.error;
    return a.error == 0 ? real(a.most) : decltype(real(a.most)){-1};
}

}  // namespace

extern "C" {
ssize_t __wrap_pwrite(int fd, const void* p, size_t n, off_t at) {
    return ask({"pwrite", hf::u64(at), n},
               [&](hf::u64 most) { return __real_pwrite(fd, p, std::min(n, most), at); });
}
ssize_t __wrap_pwritev(int fd, const iovec* v, int n, off_t at) {
    std::vector<iovec> part(v, v + n);
    hf::u64 total = 0;
    for (const iovec& one : part) total += one.iov_len;
    return ask({"pwritev", hf::u64(at), total}, [&](hf::u64 most) {
        for (iovec& one : part) most -= one.iov_len = std::min<size_t>(one.iov_len, most);
        return __real_pwritev(fd, part.data(), n, at);
    });
}
ssize_t __wrap_pread(int fd, void* p, size_t n, off_t at) {
    return ask({"pread", hf::u64(at), n},
               [&](hf::u64 most) { return __real_pread(fd, p, std::min(n, most), at); });
}
int __wrap_fdatasync(int fd) {
    return ask({"fdatasync"}, [&](hf::u64) { return __real_fdatasync(fd); });
}
int __wrap_fallocate(int fd, int mode, off_t from, off_t n) {
    return ask({"fallocate", hf::u64(from), hf::u64(n), mode},
               [&](hf::u64) { return __real_fallocate(fd, mode, from, n); });
}
int __wrap_fstat(int fd, struct stat* s) {
    return ask({"fstat"}, [&](hf::u64) { return __real_fstat(fd, s); });
}
int __wrap_posix_fadvise(int, off_t from, off_t n, int advice) {
    return ask({"posix_fadvise", hf::u64(from), hf::u64(n), advice}, [](hf::u64) { return 0; });
}
int __wrap_sync_file_range(int, off_t from, off_t n, unsigned flags) {
    return ask({"sync_file_range", hf::u64(from), hf::u64(n), int(flags)},
               [](hf::u64) { return 0; });
}
int __wrap_fcntl(int fd, int command, ...) {
    va_list list;
    va_start(list, command);
    void* const what = va_arg(list, void*);
    va_end(list);
    return ask({"fcntl", 0, 0, command}, [&](hf::u64) { return __real_fcntl(fd, command, what); });
}
}
// NOLINTEND
