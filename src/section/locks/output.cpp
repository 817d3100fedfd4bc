// write(), send() and their kind in front of the C library's, for programs whose output is held
// until it is stable (the option hold_output; held_output.hpp).
//
// Held: sockets of clients (internet, vsock, and Unix sockets with a name on either side), a pipe
// that is the standard output, and files that are open for appending. All else passes through: the
// program's own pipes, socket pairs and event descriptors, by which its threads wake each other;
// the standard error, unless it appends to a file; files that are written at a position. The C
// library's streams (printf) call the kernel without the dynamic linker and are not seen, and
// neither are sendmmsg(), sendfile(), splice() and io_uring.
//
// A message with control data (a descriptor that is passed on) cannot be kept; the caller waits
// until all that is held has been written, and passes it on then.
#include "section/locks/real.hpp"
#include "section/runtime.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

using hf::section::belongs_to_runtime;
using hf::section::runtime;
using hf::section::real::libc;
using message = hf::section::held_output::message;

namespace {

[[nodiscard]] bool has_name(int fd, decltype(::getsockname)* side) {
    sockaddr_storage a{};
    socklen_t n = sizeof a;
    return side(fd, reinterpret_cast<sockaddr*>(&a), &n) == 0 && n > sizeof(sa_family_t);
}

/// Whether a client or a log is at the other end.
[[nodiscard]] bool leaves_the_program(int fd) {
    struct stat s{};
    if (::fstat(fd, &s) != 0) return false;
    if (S_ISFIFO(s.st_mode)) return fd == STDOUT_FILENO;
    if (S_ISREG(s.st_mode)) return (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
    if (!S_ISSOCK(s.st_mode)) return false;
    int family = AF_UNSPEC;
    socklen_t n = sizeof family;
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n) != 0) return false;
    if (family == AF_UNIX) return has_name(fd, ::getsockname) || has_name(fd, ::getpeername);
    return family == AF_INET || family == AF_INET6 || family == AF_VSOCK;
}

/// errno is as before.
[[nodiscard]] bool is_held(int fd) {
    if (!runtime::holds_output() || belongs_to_runtime()) [[likely]]
        return false;
    const int kept = errno;
    const bool held = leaves_the_program(fd);
    errno = kept;
    return held;
}

ssize_t hold(int fd, const message& m) {
    const ssize_t n = runtime::get().hold(fd, m);
    // As the kernel does it for a write that is not held.
    if (n < 0 && errno == EPIPE && (m.flags & MSG_NOSIGNAL) == 0) {
        static_cast<void>(std::raise(SIGPIPE));
        errno = EPIPE;
    }
    return n;
}

ssize_t hold(int fd, const void* bytes, size_t n, message m = {}) {
    const iovec part{const_cast<void*>(bytes), n};
    m.parts = &part;
    m.count = 1;
    return hold(fd, m);
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* bytes, size_t n) {
    return is_held(fd) ? hold(fd, bytes, n) : libc().write(fd, bytes, n);
}

ssize_t writev(int fd, const iovec* parts, int count) {
    if (!is_held(fd) || count < 0) return libc().writev(fd, parts, count);
    return hold(fd, message{.parts = parts, .count = static_cast<size_t>(count)});
}

ssize_t send(int fd, const void* bytes, size_t n, int flags) {
    return is_held(fd) ? hold(fd, bytes, n, {.flags = flags}) : libc().send(fd, bytes, n, flags);
}

ssize_t sendto(int fd, const void* bytes, size_t n, int flags, const sockaddr* to,
               socklen_t to_bytes) {
    if (!is_held(fd)) return libc().sendto(fd, bytes, n, flags, to, to_bytes);
    return hold(fd, bytes, n, {.flags = flags, .to = to, .to_bytes = to_bytes});
}

ssize_t sendmsg(int fd, const msghdr* m, int flags) {
    if (!is_held(fd)) return libc().sendmsg(fd, m, flags);
    if (m->msg_controllen != 0) {
        if (hf_output_flush() == 0) return libc().sendmsg(fd, m, flags);
        errno = ENOBUFS;
        return -1;
    }
    return hold(fd, message{.parts = m->msg_iov,
                            .count = m->msg_iovlen,
                            .flags = flags,
                            .to = static_cast<const sockaddr*>(m->msg_name),
                            .to_bytes = m->msg_namelen});
}

int shutdown(int fd, int how) noexcept {
    if (how != SHUT_RD && is_held(fd)) {
        const hf::section::inside_runtime in;
        if (runtime::get().output().hold_shutdown(fd, how)) return 0;
    }
    return libc().shutdown(fd, how);
}

}  // extern "C"
