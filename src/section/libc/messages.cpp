// Messages of sockets (L2, C12).
#include "section/libc/announced.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>

using namespace hf::section_libc;

namespace {

/// Divides `got` bytes from `from` among the parts of a message.
void divide(const msghdr& message, const char* from, size_t got) {
    for (size_t i = 0; i < message.msg_iovlen && got > 0; ++i) {
        const size_t piece = std::min(got, message.msg_iov[i].iov_len);
        copy(message.msg_iov[i].iov_base, from, piece);
        from += piece;
        got -= piece;
    }
}

}  // namespace

extern "C" {

ssize_t hf_lib_recv(int fd, void* to, size_t n, int flags) {
    return through_buffer(to, n, [&](void* at) { return ::recv(fd, at, n, flags); });
}

ssize_t hf_lib___recv_chk(int fd, void* to, size_t n, size_t room, int flags) {
    check_room(n, room);
    return hf_lib_recv(fd, to, n, flags);
}

ssize_t hf_lib_recvfrom(int fd, void* to, size_t n, int flags, sockaddr* from, socklen_t* length) {
    sockaddr_storage address;
    const bool is_copied = is_persistent(from);
    const socklen_t room = length != nullptr ? *length : 0;
    out<socklen_t> written(length);
    const ssize_t got = through_buffer(to, n, [&](void* at) {
        return ::recvfrom(fd, at, n, flags,
                          is_copied ? reinterpret_cast<sockaddr*>(&address) : from, written.get());
    });
    if (got >= 0 && is_copied) copy(from, &address, std::min(room, *written.get()));
    return got;
}

ssize_t hf_lib___recvfrom_chk(int fd, void* to, size_t n, size_t room, int flags, sockaddr* from,
                              socklen_t* length) {
    check_room(n, room);
    return hf_lib_recvfrom(fd, to, n, flags, from, length);
}

/// The whole message goes through private memory; three fields of *user are results, too.
ssize_t hf_lib_recvmsg(int fd, msghdr* user, int flags) {
    size_t n = 0;
    for (size_t i = 0; i < user->msg_iovlen; ++i) n += user->msg_iov[i].iov_len;
    private_buffer data(n);
    private_buffer control(user->msg_controllen);
    sockaddr_storage name;
    iovec one{data.get(), n};
    msghdr message = *user;
    message.msg_iov = &one;
    message.msg_iovlen = 1;
    if (user->msg_control != nullptr) message.msg_control = control.get();
    if (user->msg_name != nullptr) {
        message.msg_name = &name;
        message.msg_namelen = std::min<socklen_t>(user->msg_namelen, sizeof name);
    }
    if (one.iov_base == nullptr || control.get() == nullptr) return -1;
    const ssize_t got = ::recvmsg(fd, &message, flags);
    if (got < 0) return got;
    divide(*user, static_cast<const char*>(one.iov_base), static_cast<size_t>(got));
    if (user->msg_name != nullptr) {
        copy(user->msg_name, &name, std::min(user->msg_namelen, message.msg_namelen));
    }
    if (user->msg_control != nullptr) {
        copy(user->msg_control, message.msg_control, message.msg_controllen);
    }
    assign(user->msg_namelen, message.msg_namelen);
    assign(user->msg_controllen, message.msg_controllen);
    assign(user->msg_flags, message.msg_flags);
    return got;
}

}  // extern "C"
