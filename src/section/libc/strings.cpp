// Strings (L1).
#include "section/libc/announced.hpp"

#include <string.h>

#include <cstdlib>
#include <cwchar>

using namespace hf::section_libc;

extern "C" {

char* hf_lib_strcpy(char* to, const char* from) {
    copy(to, from, std::strlen(from) + 1);
    return to;
}

char* hf_lib_stpcpy(char* to, const char* from) {
    const size_t length = std::strlen(from);
    copy(to, from, length + 1);
    return to + length;
}

char* hf_lib_stpncpy(char* to, const char* from, size_t n) {
    char* end = nullptr;
    announced(to, n, [&] { end = ::stpncpy(to, from, n); });
    return end;
}

char* hf_lib_strncpy(char* to, const char* from, size_t n) {
    (void)hf_lib_stpncpy(to, from, n);
    return to;
}

char* hf_lib_strcat(char* to, const char* from) {
    (void)hf_lib_strcpy(to + std::strlen(to), from);
    return to;
}

char* hf_lib_strncat(char* to, const char* from, size_t n) {
    const size_t length = ::strnlen(from, n);
    char* const end = to + std::strlen(to);
    announced(end, length + 1, [&] {
        std::memcpy(end, from, length);
        end[length] = '\0';
    });
    return to;
}

size_t hf_lib_strxfrm(char* to, const char* from, size_t n) {
    size_t length = 0;
    announced(to, n, [&] { length = std::strxfrm(to, from, n); });
    return length;
}

char* hf_lib_strtok_r(char* text, const char* separators, char** rest) {
    char* begin = text != nullptr ? text : *rest;
    if (begin == nullptr) return nullptr;
    begin += std::strspn(begin, separators);
    char* const end = begin + std::strcspn(begin, separators);
    char* next = end;
    if (*end != '\0') {
        assign(*end, '\0');
        ++next;
    }
    assign(*rest, next);
    return begin == end ? nullptr : begin;
}

char* hf_lib___strtok_r(char* text, const char* separators, char** rest) {
    return hf_lib_strtok_r(text, separators, rest);
}

char* hf_lib_strtok(char* text, const char* separators) {
    static char* rest = nullptr;  // of the whole program, as the original's
    return hf_lib_strtok_r(text, separators, &rest);
}

char* hf_lib_strsep(char** text, const char* separators) {
    char* const begin = *text;
    if (begin == nullptr) return nullptr;
    char* const end = begin + std::strcspn(begin, separators);
    char* next = nullptr;
    if (*end != '\0') {
        assign(*end, '\0');
        next = end + 1;
    }
    assign(*text, next);
    return begin;
}

int hf_lib___xpg_strerror_r(int error, char* to, size_t n) {
    const char* const text = ::strerrordesc_np(error);
    const char* const shown = text != nullptr ? text : "Unknown error";
    const size_t length = std::strlen(shown);
    if (n == 0) return ERANGE;
    const size_t kept = length < n ? length : n - 1;
    announced(to, kept + 1, [&] {
        std::memcpy(to, shown, kept);
        to[kept] = '\0';
    });
    if (text == nullptr) return EINVAL;
    return kept < length ? ERANGE : 0;
}

/// GNU's: the texts of known errors are its own, and `to` is not written to.
char* hf_lib_strerror_r(int error, char* to, size_t n) {
    if (!is_persistent(to)) return ::strerror_r(error, to, n);
    char text[64];
    char* const shown = ::strerror_r(error, text, n < sizeof text ? n : sizeof text);
    if (shown != text) return shown;
    copy(to, text, std::strlen(text) + 1);
    return to;
}

char* hf_lib___strcpy_chk(char* to, const char* from, size_t room) {
    check_room(std::strlen(from) + 1, room);
    return hf_lib_strcpy(to, from);
}

char* hf_lib___stpcpy_chk(char* to, const char* from, size_t room) {
    check_room(std::strlen(from) + 1, room);
    return hf_lib_stpcpy(to, from);
}

char* hf_lib___strncpy_chk(char* to, const char* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_strncpy(to, from, n);
}

char* hf_lib___stpncpy_chk(char* to, const char* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_stpncpy(to, from, n);
}

char* hf_lib___strcat_chk(char* to, const char* from, size_t room) {
    check_room(std::strlen(to) + std::strlen(from) + 1, room);
    return hf_lib_strcat(to, from);
}

char* hf_lib___strncat_chk(char* to, const char* from, size_t n, size_t room) {
    check_room(std::strlen(to) + ::strnlen(from, n) + 1, room);
    return hf_lib_strncat(to, from, n);
}

wchar_t* hf_lib_wcscpy(wchar_t* to, const wchar_t* from) {
    copy(to, from, (std::wcslen(from) + 1) * sizeof *to);
    return to;
}

wchar_t* hf_lib_wcsncpy(wchar_t* to, const wchar_t* from, size_t n) {
    announced(to, n * sizeof *to, [&] { std::wcsncpy(to, from, n); });
    return to;
}

wchar_t* hf_lib_wcscat(wchar_t* to, const wchar_t* from) {
    (void)hf_lib_wcscpy(to + std::wcslen(to), from);
    return to;
}

size_t hf_lib_mbstowcs(wchar_t* to, const char* from, size_t n) {
    size_t length = 0;
    announced(to, to == nullptr ? 0 : n * sizeof *to, [&] { length = std::mbstowcs(to, from, n); });
    return length;
}

size_t hf_lib_wcstombs(char* to, const wchar_t* from, size_t n) {
    size_t length = 0;
    announced(to, to == nullptr ? 0 : n, [&] { length = std::wcstombs(to, from, n); });
    return length;
}

wchar_t* hf_lib___wcscpy_chk(wchar_t* to, const wchar_t* from, size_t room) {
    check_room(std::wcslen(from) + 1, room);
    return hf_lib_wcscpy(to, from);
}

wchar_t* hf_lib___wcsncpy_chk(wchar_t* to, const wchar_t* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_wcsncpy(to, from, n);
}

wchar_t* hf_lib___wcscat_chk(wchar_t* to, const wchar_t* from, size_t room) {
    check_room(std::wcslen(to) + std::wcslen(from) + 1, room);
    return hf_lib_wcscat(to, from);
}

size_t hf_lib___mbstowcs_chk(wchar_t* to, const char* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_mbstowcs(to, from, n);
}

size_t hf_lib___wcstombs_chk(char* to, const wchar_t* from, size_t n, size_t room) {
    check_room(n, room);
    return hf_lib_wcstombs(to, from, n);
}

}  // extern "C"
