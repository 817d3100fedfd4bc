#include "calls.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdarg>

// NOLINTBEGIN: the names are the linker's.
namespace {

int refused() {
    errno = ENOMEM;
    return -1;
}

}  // namespace

extern "C" {
void* __real_mmap(void* at, size_t n, int prot, int flags, int fd, off_t offset);
void* __wrap_mmap(void* at, size_t n, int prot, int flags, int fd, off_t offset) {
    if (!hf::test::calls.refuses("mmap")) return __real_mmap(at, n, prot, flags, fd, offset);
    refused();
    return MAP_FAILED;
}

void* __real_mremap(void* at, size_t from, size_t to, int flags, ...);
void* __wrap_mremap(void* at, size_t from, size_t to, int flags, ...) {
    va_list list;
    va_start(list, flags);
    void* const target = (flags & MREMAP_FIXED) != 0 ? va_arg(list, void*) : nullptr;
    va_end(list);
    if (!hf::test::calls.refuses("mremap")) return __real_mremap(at, from, to, flags, target);
    refused();
    return MAP_FAILED;
}

int __real_madvise(void* at, size_t n, int advice);
int __wrap_madvise(void* at, size_t n, int advice) {
    return hf::test::calls.refuses("madvise") ? refused() : __real_madvise(at, n, advice);
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void* const argument = va_arg(list, void*);
    va_end(list);
    if (hf::test::calls.control) {
        if (const auto said = hf::test::calls.control(request, argument)) return *said;
    }
    return __real_ioctl(fd, request, argument);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (long& one : a) one = va_arg(list, long);
    va_end(list);
    if (number == SYS_process_madvise && hf::test::calls.refuses("process_madvise")) {
        return refused();
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
}
// NOLINTEND
