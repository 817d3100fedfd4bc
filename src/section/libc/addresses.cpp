// Addresses of sockets, and other results whose size the caller limits and learns (L2).
#include "section/libc/announced.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>

using namespace hf::section_libc;

namespace {

/// Has `call(to, length)` fill private memory in place of `to`, whose size is *length.
template <class T, class Call>
int with_length(T* to, socklen_t* length, const Call& call) {
    const socklen_t room = length != nullptr ? *length : 0;
    out<socklen_t> written(length);
    if (!is_persistent(to)) return call(to, written.get());
    private_buffer buffer(room);
    T* const at = static_cast<T*>(buffer.get());
    if (at == nullptr) return -1;
    const int result = call(at, written.get());
    if (result >= 0) copy(to, at, std::min(room, *written.get()));
    return result;
}

}  // namespace

extern "C" {

int hf_lib_getsockname(int fd, sockaddr* to, socklen_t* length) {
    return with_length(to, length,
                       [&](sockaddr* a, socklen_t* n) { return ::getsockname(fd, a, n); });
}

int hf_lib_getpeername(int fd, sockaddr* to, socklen_t* length) {
    return with_length(to, length,
                       [&](sockaddr* a, socklen_t* n) { return ::getpeername(fd, a, n); });
}

int hf_lib_accept4(int fd, sockaddr* to, socklen_t* length, int flags) {
    return with_length(to, length,
                       [&](sockaddr* a, socklen_t* n) { return ::accept4(fd, a, n, flags); });
}

int hf_lib_accept(int fd, sockaddr* to, socklen_t* length) {
    return hf_lib_accept4(fd, to, length, 0);
}

int hf_lib_getsockopt(int fd, int level, int option, void* to, socklen_t* length) {
    return with_length(
        to, length, [&](void* a, socklen_t* n) { return ::getsockopt(fd, level, option, a, n); });
}

int hf_lib_socketpair(int domain, int type, int protocol, int* to) {
    int ends[2];
    const int result = ::socketpair(domain, type, protocol, ends);
    if (result == 0) copy(to, ends, sizeof ends);
    return result;
}

int hf_lib_getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                       addrinfo** to) {
    return ::getaddrinfo(node, service, hints, out(to).get());
}

}  // extern "C"
