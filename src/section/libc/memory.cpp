// Blocks of memory (L1).
#include "section/libc/announced.hpp"

#include <strings.h>
#include <unistd.h>

#include <cwchar>

using namespace hf::section_libc;

extern "C" {

void* hf_lib_memmove(void* to, const void* from, size_t n) {
    copy(to, from, n);
    return to;
}

void* hf_lib_memcpy(void* to, const void* from, size_t n) { return hf_lib_memmove(to, from, n); }

void* hf_lib_mempcpy(void* to, const void* from, size_t n) {
    copy(to, from, n);
    return static_cast<char*>(to) + n;
}

void* hf_lib_memset(void* to, int byte, size_t n) {
    announced(to, n, [&] { std::memset(to, byte, n); });
    return to;
}

void* hf_lib_memccpy(void* to, const void* from, int last, size_t n) {
    const void* const found = std::memchr(from, last, n);
    const size_t length = found ? static_cast<size_t>(static_cast<const char*>(found) -
                                                      static_cast<const char*>(from)) +
                                      1
                                : n;
    copy(to, from, length);
    return found ? static_cast<char*>(to) + length : nullptr;
}

void hf_lib_bcopy(const void* from, void* to, size_t n) { copy(to, from, n); }

void hf_lib_bzero(void* to, size_t n) { (void)hf_lib_memset(to, 0, n); }

void hf_lib_explicit_bzero(void* to, size_t n) {
    announced(to, n, [&] { ::explicit_bzero(to, n); });
}

void hf_lib_swab(const void* from, void* to, ssize_t n) {
    if (n <= 0) return;
    announced(to, static_cast<size_t>(n) & ~size_t{1}, [&] { ::swab(from, to, n); });
}

void* hf_lib___memcpy_chk(void* to, const void* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_memmove(to, from, n);
}

void* hf_lib___memmove_chk(void* to, const void* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_memmove(to, from, n);
}

void* hf_lib___mempcpy_chk(void* to, const void* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_mempcpy(to, from, n);
}

void hf_lib___explicit_bzero_chk(void* to, size_t n, size_t room) {
    check_room(n, room);
    hf_lib_explicit_bzero(to, n);
}

void* hf_lib___memset_chk(void* to, int byte, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_memset(to, byte, n);
}

wchar_t* hf_lib_wmemcpy(wchar_t* to, const wchar_t* from, size_t n) {
    copy(to, from, n * sizeof *to);
    return to;
}

wchar_t* hf_lib_wmemmove(wchar_t* to, const wchar_t* from, size_t n) {
    return hf_lib_wmemcpy(to, from, n);
}

wchar_t* hf_lib_wmemset(wchar_t* to, wchar_t c, size_t n) {
    announced(to, n * sizeof *to, [&] { std::wmemset(to, c, n); });
    return to;
}

wchar_t* hf_lib___wmemcpy_chk(wchar_t* to, const wchar_t* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_wmemcpy(to, from, n);
}

wchar_t* hf_lib___wmemmove_chk(wchar_t* to, const wchar_t* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_wmemcpy(to, from, n);
}

wchar_t* hf_lib___wmemset_chk(wchar_t* to, wchar_t c, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_wmemset(to, c, n);
}

}  // extern "C"
