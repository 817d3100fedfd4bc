// Interposed libc functions that read or write memory, so that their accesses are seen whether the
// caller is instrumented or not. Compiled with -fno-builtin, so that none of them becomes a call to
// itself.
#include "crashlab/runtime/observer.hpp"

using hf::u64;
using hf::lab::ordering;
using hf::lab::tell_reading;
using hf::lab::tell_writing;

#define HF_PC reinterpret_cast<u64>(__builtin_return_address(0))

namespace {

using byte = unsigned char;
using std::size_t;

void move_up(byte* to, const byte* from, size_t n) {
    while (n >= 8) {
        n -= 8;
        u64 word = 0;
        __builtin_memcpy_inline(&word, from + n, 8);
        __builtin_memcpy_inline(to + n, &word, 8);
    }
    while (n > 0) {
        --n;
        to[n] = from[n];
    }
}

void move_any(void* to, const void* from, size_t n) {
    if (reinterpret_cast<u64>(to) - reinterpret_cast<u64>(from) >= n) {
        hf::lab::unseen_copy(to, from, n);
        return;
    }
    // The upper part first; in whole words only if the ranges are at least a word apart.
    auto* d = static_cast<byte*>(to);
    const auto* s = static_cast<const byte*>(from);
    if (d - s >= 8) {
        move_up(d + n % 8, s + n % 8, n - n % 8);
        n %= 8;
    }
    while (n > 0) {
        --n;
        d[n] = s[n];
    }
}

void fill(void* p, int value, size_t n) {
    asm volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(value) : "memory");
}

int compare(const void* a, const void* b, size_t n) {
    const auto* x = static_cast<const byte*>(a);
    const auto* y = static_cast<const byte*>(b);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        u64 u = 0;
        u64 v = 0;
        __builtin_memcpy_inline(&u, x + i, 8);
        __builtin_memcpy_inline(&v, y + i, 8);
        if (u != v) return __builtin_bswap64(u) < __builtin_bswap64(v) ? -1 : 1;
    }
    for (; i < n; ++i) {
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

size_t length(const char* s, size_t most) {
    size_t n = 0;
    while (n < most && s[n] != '\0') ++n;
    return n;
}

void tell_copy(void* to, const void* from, size_t n, u64 pc) {
    if (n == 0) return;
    tell_reading(from, n, pc);
    tell_writing(to, n, ordering::plain, pc);
}

}  // namespace

// NOLINTBEGIN: the names are libc's and the compiler's.
extern "C" {

void* memcpy(void* to, const void* from, size_t n) {
    tell_copy(to, from, n, HF_PC);
    hf::lab::unseen_copy(to, from, n);
    return to;
}
void* __tsan_memcpy(void* to, const void* from, size_t n) {
    tell_copy(to, from, n, HF_PC);
    hf::lab::unseen_copy(to, from, n);
    return to;
}
void* memmove(void* to, const void* from, size_t n) {
    tell_copy(to, from, n, HF_PC);
    move_any(to, from, n);
    return to;
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
    tell_copy(to, from, n, HF_PC);
    move_any(to, from, n);
    return to;
}
void* memset(void* p, int value, size_t n) {
    if (n != 0) tell_writing(p, n, ordering::plain, HF_PC);
    fill(p, value, n);
    return p;
}
void* __tsan_memset(void* p, int value, size_t n) {
    if (n != 0) tell_writing(p, n, ordering::plain, HF_PC);
    fill(p, value, n);
    return p;
}
int memcmp(const void* a, const void* b, size_t n) {
    if (n == 0) return 0;
    tell_reading(a, n, HF_PC);
    tell_reading(b, n, HF_PC);
    return compare(a, b, n);
}
int bcmp(const void* a, const void* b, size_t n) {
    if (n == 0) return 0;
    tell_reading(a, n, HF_PC);
    tell_reading(b, n, HF_PC);
    return compare(a, b, n);
}
size_t strlen(const char* s) {
    if (hf::lab::is_watched(s)) tell_reading(s, 1, HF_PC);
    const size_t n = length(s, ~size_t{0});
    tell_reading(s, n + 1, HF_PC);
    return n;
}
size_t strnlen(const char* s, size_t most) {
    if (most == 0) return 0;
    tell_reading(s, most, HF_PC);
    return length(s, most);
}
void* memchr(const void* p, int value, size_t n) {
    if (n == 0) return nullptr;
    tell_reading(p, n, HF_PC);
    const auto* b = static_cast<const byte*>(p);
    for (size_t i = 0; i < n; ++i) {
        if (b[i] == static_cast<byte>(value)) return const_cast<byte*>(b + i);
    }
    return nullptr;
}

}  // extern "C"
// NOLINTEND
