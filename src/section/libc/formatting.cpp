// The printf family: text is formatted into private memory, then copied (L2), for its length is
// known only afterwards.
#include "section/libc/announced.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <limits>

using namespace hf::section_libc;

namespace {

/// Formats into `to`, of which n bytes may be written. Returns what vsnprintf returns.
int format_into(char* to, size_t n, const char* format, va_list arguments) {
    if (n == 0 || !is_persistent(to)) return std::vsnprintf(to, n, format, arguments);
    va_list again;
    va_copy(again, arguments);
    char near[4096];
    int length = std::vsnprintf(near, sizeof near, format, arguments);
    if (length >= 0 && static_cast<size_t>(length) < sizeof near) {
        const size_t kept = std::min(n - 1, static_cast<size_t>(length));
        near[kept] = '\0';
        copy(to, near, kept + 1);
    } else if (length >= 0) {
        const size_t size = std::min(n, static_cast<size_t>(length) + 1);
        private_buffer far(size);
        char* const at = static_cast<char*>(far.get());
        length = at == nullptr ? -1 : std::vsnprintf(at, size, format, again);
        if (length >= 0) copy(to, at, size);
    }
    va_end(again);
    return length;
}

constexpr size_t no_limit = std::numeric_limits<int>::max();

}  // namespace

extern "C" {

int hf_lib_vsnprintf(char* to, size_t n, const char* format, va_list arguments) {
    return format_into(to, n, format, arguments);
}

int hf_lib_vsprintf(char* to, const char* format, va_list arguments) {
    return format_into(to, no_limit, format, arguments);
}

int hf_lib___vsnprintf_chk(char* to, size_t n, int, size_t room, const char* format,
                           va_list arguments) {
    check_room(n, room);
    return format_into(to, n, format, arguments);
}

int hf_lib___vsprintf_chk(char* to, int, size_t room, const char* format, va_list arguments) {
    const int length = format_into(to, std::min(room, no_limit), format, arguments);
    if (length >= 0) check_room(static_cast<size_t>(length) + 1, room);
    return length;
}

int hf_lib_vasprintf(char** to, const char* format, va_list arguments) {
    out<char*> text(to);
    return ::vasprintf(text.get(), format, arguments);
}

int hf_lib___vasprintf_chk(char** to, int, const char* format, va_list arguments) {
    return hf_lib_vasprintf(to, format, arguments);
}

int hf_lib_snprintf(char* to, size_t n, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = format_into(to, n, format, arguments);
    va_end(arguments);
    return length;
}

int hf_lib_sprintf(char* to, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = format_into(to, no_limit, format, arguments);
    va_end(arguments);
    return length;
}

int hf_lib___snprintf_chk(char* to, size_t n, int, size_t room, const char* format, ...) {
    check_room(n, room);
    va_list arguments;
    va_start(arguments, format);
    const int length = format_into(to, n, format, arguments);
    va_end(arguments);
    return length;
}

int hf_lib___sprintf_chk(char* to, int flag, size_t room, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = hf_lib___vsprintf_chk(to, flag, room, format, arguments);
    va_end(arguments);
    return length;
}

int hf_lib_asprintf(char** to, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = hf_lib_vasprintf(to, format, arguments);
    va_end(arguments);
    return length;
}

int hf_lib___asprintf_chk(char** to, int, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = hf_lib_vasprintf(to, format, arguments);
    va_end(arguments);
    return length;
}

}  // extern "C"
