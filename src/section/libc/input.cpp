// Input of bytes: all that can block goes to private memory first (L2, C12).
#include "section/libc/announced.hpp"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

using namespace hf::section_libc;

namespace {

size_t total(const iovec* parts, int count) {
    size_t sum = 0;
    for (int i = 0; i < count; ++i) sum += parts[i].iov_len;
    return sum;
}

bool is_any_persistent(const iovec* parts, int count) {
    return std::any_of(parts, parts + count,
                       [](const iovec& p) { return is_persistent(p.iov_base); });
}

/// Has `call(iovec*)` fill one private part instead of the user's, then divides it.
template <class Call>
ssize_t through_one_part(const iovec* parts, int count, const Call& call) {
    const size_t n = total(parts, count);
    private_buffer buffer(n);
    iovec one{buffer.get(), n};
    if (one.iov_base == nullptr) return -1;
    const ssize_t got = call(&one);
    const char* from = static_cast<const char*>(one.iov_base);
    size_t left = got > 0 ? std::min(static_cast<size_t>(got), n) : 0;
    for (int i = 0; left > 0; ++i) {
        const size_t piece = std::min(left, parts[i].iov_len);
        copy(parts[i].iov_base, from, piece);
        from += piece;
        left -= piece;
    }
    return got;
}

/// Reads a line of at most n - 1 bytes into private memory. Returns its length; 0: nothing is left,
/// or reading failed.
size_t read_line(char* to, size_t n, FILE* stream) {
    size_t length = 0;
    int c = 0;
    while (length + 1 < n && (c = getc_unlocked(stream)) != EOF) {
        to[length++] = static_cast<char>(c);
        if (c == '\n') break;
    }
    to[length] = '\0';
    return c == EOF && ferror_unlocked(stream) != 0 ? 0 : length;
}

}  // namespace

extern "C" {

ssize_t hf_lib_read(int fd, void* to, size_t n) {
    return through_buffer(to, n, [&](void* at) { return ::read(fd, at, n); });
}

ssize_t hf_lib_pread(int fd, void* to, size_t n, off_t offset) {
    return through_buffer(to, n, [&](void* at) { return ::pread(fd, at, n, offset); });
}

ssize_t hf_lib_pread64(int fd, void* to, size_t n, off_t offset) {
    return hf_lib_pread(fd, to, n, offset);
}

ssize_t hf_lib___read_chk(int fd, void* to, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_read(fd, to, n);
}

ssize_t hf_lib___pread_chk(int fd, void* to, size_t n, off_t offset, size_t room) {
    check_room(n, room);
    return hf_lib_pread(fd, to, n, offset);
}

ssize_t hf_lib___pread64_chk(int fd, void* to, size_t n, off_t offset, size_t room) {
    return hf_lib___pread_chk(fd, to, n, offset, room);
}

ssize_t hf_lib_readv(int fd, const iovec* parts, int count) {
    if (!is_any_persistent(parts, count)) return ::readv(fd, parts, count);
    return through_one_part(parts, count, [&](iovec* one) { return ::readv(fd, one, 1); });
}

ssize_t hf_lib_preadv(int fd, const iovec* parts, int count, off_t offset) {
    if (!is_any_persistent(parts, count)) return ::preadv(fd, parts, count, offset);
    return through_one_part(parts, count, [&](iovec* one) { return ::preadv(fd, one, 1, offset); });
}

size_t hf_lib_fread(void* to, size_t size, size_t count, FILE* stream) {
    if (!is_persistent(to) || size == 0) return ::fread(to, size, count, stream);
    private_buffer buffer(size * count);
    if (buffer.get() == nullptr) return 0;
    const size_t got = ::fread(buffer.get(), size, count, stream);
    copy(to, buffer.get(), got * size);
    return got;
}

size_t hf_lib_fread_unlocked(void* to, size_t size, size_t count, FILE* stream) {
    return hf_lib_fread(to, size, count, stream);
}

size_t hf_lib___fread_chk(void* to, size_t room, size_t size, size_t count, FILE* stream) {
    check_room(size * count, room);
    return hf_lib_fread(to, size, count, stream);
}

char* hf_lib_fgets(char* to, int n, FILE* stream) {
    if (!is_persistent(to) || n <= 0) return ::fgets(to, n, stream);
    private_buffer buffer(static_cast<size_t>(n));
    char* const at = static_cast<char*>(buffer.get());
    if (at == nullptr) return nullptr;
    ::flockfile(stream);
    const size_t length = read_line(at, static_cast<size_t>(n), stream);
    ::funlockfile(stream);
    if (length == 0 && n > 1) return nullptr;
    copy(to, at, length + 1);
    return to;
}

char* hf_lib_fgets_unlocked(char* to, int n, FILE* stream) { return hf_lib_fgets(to, n, stream); }

char* hf_lib___fgets_chk(char* to, size_t room, int n, FILE* stream) {
    check_room(static_cast<size_t>(std::max(n, 0)), room);
    return hf_lib_fgets(to, n, stream);
}

ssize_t hf_lib_getdelim(char** line, size_t* size, int end, FILE* stream) {
    out<char*> text(line);
    out<size_t> room(size);
    return ::getdelim(text.get(), room.get(), end, stream);
}

ssize_t hf_lib___getdelim(char** line, size_t* size, int end, FILE* stream) {
    return hf_lib_getdelim(line, size, end, stream);
}

ssize_t hf_lib_getline(char** line, size_t* size, FILE* stream) {
    return hf_lib_getdelim(line, size, '\n', stream);
}

ssize_t hf_lib_readlink(const char* path, char* to, size_t n) {
    return through_buffer(to, n,
                          [&](void* at) { return ::readlink(path, static_cast<char*>(at), n); });
}

ssize_t hf_lib___readlink_chk(const char* path, char* to, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_readlink(path, to, n);
}

char* hf_lib_getcwd(char* to, size_t n) {
    if (!is_persistent(to)) return ::getcwd(to, n);
    char path[PATH_MAX];
    if (::getcwd(path, std::min(n, sizeof path)) == nullptr) return nullptr;
    copy(to, path, std::strlen(path) + 1);
    return to;
}

char* hf_lib___getcwd_chk(char* to, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_getcwd(to, n);
}

char* hf_lib_realpath(const char* path, char* to) {
    if (!is_persistent(to)) return ::realpath(path, to);
    char resolved[PATH_MAX];
    if (::realpath(path, resolved) == nullptr) return nullptr;
    copy(to, resolved, std::strlen(resolved) + 1);
    return to;
}

char* hf_lib___realpath_chk(const char* path, char* to, size_t room) {
    check_room(PATH_MAX, room);
    return hf_lib_realpath(path, to);
}

int hf_lib_gethostname(char* to, size_t n) {
    if (!is_persistent(to)) return ::gethostname(to, n);
    char name[HOST_NAME_MAX + 1];
    const int result = ::gethostname(name, std::min(n, sizeof name));
    if (result == 0) copy(to, name, std::min(n, ::strnlen(name, sizeof name - 1) + 1));
    return result;
}

int hf_lib___gethostname_chk(char* to, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_gethostname(to, n);
}

ssize_t hf_lib_getrandom(void* to, size_t n, unsigned flags) {
    return through_buffer(to, n, [&](void* at) { return ::getrandom(at, n, flags); });
}

int hf_lib_getentropy(void* to, size_t n) {
    if (!is_persistent(to)) return ::getentropy(to, n);
    unsigned char bytes[256];  // getentropy gives no more
    const int result = ::getentropy(n <= sizeof bytes ? bytes : nullptr, n);
    if (result == 0) copy(to, bytes, n);
    return result;
}

}  // extern "C"
