// sscanf (L2). All that it gets after the format are pointers, so those into a region can be
// exchanged for pointers to private memory once the format has said how large each target is.
#include "section/libc/announced.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>

using namespace hf::section_libc;

namespace {

constexpr size_t max_targets = 32;

struct conversion {
    char kind = '\0';           ///< 'd', 's', ...; 0: the format has no further one
    size_t width = 0;           ///< 0: none
    size_t bytes = 0;           ///< of the target; 0: text as long as the input allows
    bool is_stored = true;      ///< false: it has no target
    bool is_allocated = false;  ///< its target is a pointer, to memory that the function allocates
};

/// Skips the set of a %[...], whose first character may be a ].
const char* skip_set(const char* at) {
    if (*at == '^') ++at;
    if (*at == ']') ++at;
    while (*at != '\0' && *at != ']') ++at;
    return *at == '\0' ? at : at + 1;
}

size_t integer_bytes(char length, bool is_doubled) {
    switch (length) {
        case 'h':
            return is_doubled ? 1 : 2;
        case 'l':
        case 'j':
        case 'z':
        case 't':
        case 'q':
        case 'L':
            return 8;
        default:
            return 4;
    }
}

size_t target_bytes(const conversion& c, char length, bool is_doubled) {
    switch (c.kind) {
        case 's':
        case '[':
            return c.is_allocated ? sizeof(char*) : c.width == 0 ? 0 : c.width + 1;
        case 'c':
            return c.is_allocated ? sizeof(char*) : c.width == 0 ? 1 : c.width;
        case 'p':
            return sizeof(void*);
        case 'a':
        case 'e':
        case 'f':
        case 'g':
            return length == 'L' ? sizeof(long double) : length == 'l' ? 8 : 4;
        default:
            return integer_bytes(length, is_doubled);
    }
}

/// The next conversion of the format; `at` moves past it.
conversion next_conversion(const char*& at) {
    while (*at != '\0') {
        if (*at++ != '%') continue;
        if (*at == '%') {
            ++at;
            continue;
        }
        conversion c;
        if (*at == '*') {
            c.is_stored = false;
            ++at;
        }
        for (; *at >= '0' && *at <= '9'; ++at)
            c.width = c.width * 10 + static_cast<size_t>(*at - '0');
        char length = '\0';
        bool is_doubled = false;
        for (; *at != '\0' && std::strchr("hljztqLm", *at) != nullptr; ++at) {
            is_doubled = length == *at;
            length = *at;
        }
        c.kind = *at == '\0' ? '\0' : *at++;
        if (c.kind == '[') at = skip_set(at);
        if (c.kind >= 'A' && c.kind <= 'Z') c.kind = static_cast<char>(c.kind - 'A' + 'a');
        c.is_allocated = length == 'm';
        c.bytes = target_bytes(c, length, is_doubled);
        return c;
    }
    return {};
}

/// A pointer into a region, and the private memory that sscanf gets instead.
struct target {
    void* user = nullptr;  ///< null: the argument is outside of regions
    char* copy = nullptr;
    size_t bytes = 0;
    bool is_text = false;
};

constexpr int unwritten = 0xFF;  // fills the copy of a text: without an end, until one is stored

class scanner {
   public:
    scanner(const char* text, const char* format, va_list arguments)
        : longest_(std::strlen(text) + 1), buffer_(room_for(format)) {
        fill(format, arguments);
    }

    int scan(const char* text, const char* format) {
        const auto& a = pointers_;
        const int got = std::sscanf(text, format, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7],
                                    a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16],
                                    a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25],
                                    a[26], a[27], a[28], a[29], a[30], a[31]);
        for (const target& t : targets_) {
            if (t.user != nullptr) copy_back(t);
        }
        return got;
    }

   private:
    [[nodiscard]] size_t bytes_of(const conversion& c) const {
        return c.bytes == 0 ? longest_ : c.bytes;
    }

    [[nodiscard]] size_t room_for(const char* format) const {
        size_t room = 16;
        for (conversion c = next_conversion(format); c.kind != '\0'; c = next_conversion(format)) {
            room += aligned(bytes_of(c));
        }
        return room;
    }

    static size_t aligned(size_t bytes) { return (bytes + 15) & ~size_t{15}; }

    void fill(const char* format, va_list arguments) {
        char* at = static_cast<char*>(buffer_.get());
        size_t i = 0;
        for (conversion c = next_conversion(format); c.kind != '\0' && i < max_targets;
             c = next_conversion(format)) {
            if (!c.is_stored) continue;
            void* const user = va_arg(arguments, void*);
            pointers_[i] = user;
            if (is_persistent(user) && at != nullptr) {
                targets_[i] = {user, at, bytes_of(c), is_text(c)};
                if (is_text(c)) {
                    std::memset(at, unwritten, bytes_of(c));
                } else {
                    std::memcpy(at, user, bytes_of(c));
                }
                pointers_[i] = at;
                at += aligned(bytes_of(c));
            }
            ++i;
        }
    }

    static bool is_text(const conversion& c) {
        return (c.kind == 's' || c.kind == '[') && !c.is_allocated;
    }

    static void copy_back(const target& t) {
        if (t.is_text) {
            if (std::memchr(t.copy, '\0', t.bytes) == nullptr) return;
            copy(t.user, t.copy, std::strlen(t.copy) + 1);
        } else if (std::memcmp(t.user, t.copy, t.bytes) != 0) {
            copy(t.user, t.copy, t.bytes);
        }
    }

    size_t longest_;
    private_buffer buffer_;
    std::array<void*, max_targets> pointers_{};
    std::array<target, max_targets> targets_{};
};

}  // namespace

extern "C" {

int hf_lib_sscanf(const char* text, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int got = scanner(text, format, arguments).scan(text, format);
    va_end(arguments);
    return got;
}

int hf_lib___isoc99_sscanf(const char* text, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int got = scanner(text, format, arguments).scan(text, format);
    va_end(arguments);
    return got;
}

}  // extern "C"
