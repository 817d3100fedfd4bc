// Functions that return a result of fixed size by a pointer (L2).
#include "section/libc/announced.hpp"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

using namespace hf::section_libc;

namespace {

/// A call on an array of n elements, which is copied back as a whole.
template <class T, class Call>
int on_copy(T* user, size_t n, const Call& call) {
    if (n == 0 || !is_persistent(user)) return call(user);
    private_buffer buffer(n * sizeof(T));
    T* const at = static_cast<T*>(buffer.get());
    if (at == nullptr) return -1;
    std::memcpy(at, user, n * sizeof(T));
    const int result = call(at);
    if (std::memcmp(user, at, n * sizeof(T)) != 0) copy(user, at, n * sizeof(T));
    return result;
}

}  // namespace

extern "C" {

time_t hf_lib_time(time_t* to) { return ::time(out(to).get()); }

int hf_lib_gettimeofday(struct timeval* to, void* zone) {
    return ::gettimeofday(out(to).get(), out(static_cast<struct timezone*>(zone)).get());
}

int hf_lib_clock_gettime(clockid_t clock, struct timespec* to) {
    return ::clock_gettime(clock, out(to).get());
}

int hf_lib_clock_getres(clockid_t clock, struct timespec* to) {
    return ::clock_getres(clock, out(to).get());
}

int hf_lib_nanosleep(const struct timespec* wanted, struct timespec* left) {
    return ::nanosleep(wanted, out(left).get());
}

struct tm* hf_lib_localtime_r(const time_t* when, struct tm* to) {
    return ::localtime_r(when, out(to).get()) == nullptr ? nullptr : to;
}

struct tm* hf_lib_gmtime_r(const time_t* when, struct tm* to) {
    return ::gmtime_r(when, out(to).get()) == nullptr ? nullptr : to;
}

time_t hf_lib_mktime(struct tm* when) { return ::mktime(out(when).get()); }
time_t hf_lib_timegm(struct tm* when) { return ::timegm(out(when).get()); }

char* hf_lib_asctime_r(const struct tm* when, char* to) {
    char text[64];
    if (::asctime_r(when, text) == nullptr) return nullptr;
    copy(to, text, std::strlen(text) + 1);
    return to;
}

char* hf_lib_ctime_r(const time_t* when, char* to) {
    char text[64];
    if (::ctime_r(when, text) == nullptr) return nullptr;
    copy(to, text, std::strlen(text) + 1);
    return to;
}

size_t hf_lib_strftime(char* to, size_t n, const char* format, const struct tm* when) {
    size_t length = 0;
    announced(to, n, [&] { length = ::strftime(to, n, format, when); });
    return length;
}

int hf_lib_stat(const char* path, struct stat* to) { return ::stat(path, out(to).get()); }
int hf_lib_fstat(int fd, struct stat* to) { return ::fstat(fd, out(to).get()); }
int hf_lib_lstat(const char* path, struct stat* to) { return ::lstat(path, out(to).get()); }
int hf_lib_fstatat(int fd, const char* path, struct stat* to, int flags) {
    return ::fstatat(fd, path, out(to).get(), flags);
}
// The same types where off_t has 64 bits.
int hf_lib_stat64(const char* path, struct stat* to) { return hf_lib_stat(path, to); }
int hf_lib_fstat64(int fd, struct stat* to) { return hf_lib_fstat(fd, to); }
int hf_lib_lstat64(const char* path, struct stat* to) { return hf_lib_lstat(path, to); }

int hf_lib_uname(struct utsname* to) { return ::uname(out(to).get()); }

int hf_lib_getrlimit(int resource, struct rlimit* to) {
    return ::getrlimit(static_cast<__rlimit_resource>(resource), out(to).get());
}
int hf_lib_getrlimit64(int resource, struct rlimit* to) { return hf_lib_getrlimit(resource, to); }

int hf_lib_getrusage(int who, struct rusage* to) {
    return ::getrusage(static_cast<__rusage_who>(who), out(to).get());
}

int hf_lib_pipe2(int* to, int flags) {
    return on_copy(to, 2, [&](int* at) { return ::pipe2(at, flags); });
}

int hf_lib_pipe(int* to) { return hf_lib_pipe2(to, 0); }

int hf_lib_poll(struct pollfd* fds, nfds_t n, int timeout) {
    return on_copy(fds, n, [&](struct pollfd* at) { return ::poll(at, n, timeout); });
}

int hf_lib___poll_chk(struct pollfd* fds, nfds_t n, int timeout, size_t room) {
    check_room(n * sizeof *fds, room);
    return hf_lib_poll(fds, n, timeout);
}

int hf_lib_epoll_wait(int fd, struct epoll_event* events, int n, int timeout) {
    const size_t count = n > 0 ? static_cast<size_t>(n) : 0;
    return on_copy(events, count,
                   [&](struct epoll_event* at) { return ::epoll_wait(fd, at, n, timeout); });
}

int hf_lib_select(int n, fd_set* readable, fd_set* writable, fd_set* failed,
                  struct timeval* limit) {
    return ::select(n, out(readable).get(), out(writable).get(), out(failed).get(),
                    out(limit).get());
}

int hf_lib_posix_memalign(void** to, size_t alignment, size_t n) {
    return ::posix_memalign(out(to).get(), alignment, n);
}

int hf_lib_pthread_create(pthread_t* to, const pthread_attr_t* attributes, void* (*function)(void*),
                          void* argument) {
    return ::pthread_create(out(to).get(), attributes, function, argument);
}

int hf_lib_rand_r(unsigned* seed) { return ::rand_r(out(seed).get()); }

}  // extern "C"
