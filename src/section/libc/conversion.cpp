// Conversions of text and numbers, which return where they stopped by a pointer (L2).
#include "section/libc/announced.hpp"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdlib>

using namespace hf::section_libc;

extern "C" {

#define HF_WRAP_INTEGER(type, name)                                   \
    type hf_lib_##name(const char* text, char** end, int base) {      \
        return static_cast<type>(::name(text, out(end).get(), base)); \
    }
HF_WRAP_INTEGER(long, strtol)
HF_WRAP_INTEGER(unsigned long, strtoul)
HF_WRAP_INTEGER(long long, strtoll)
HF_WRAP_INTEGER(unsigned long long, strtoull)
HF_WRAP_INTEGER(intmax_t, strtoimax)
HF_WRAP_INTEGER(uintmax_t, strtoumax)
#undef HF_WRAP_INTEGER

double hf_lib_strtod(const char* text, char** end) { return ::strtod(text, out(end).get()); }
float hf_lib_strtof(const char* text, char** end) { return ::strtof(text, out(end).get()); }
long double hf_lib_strtold(const char* text, char** end) { return ::strtold(text, out(end).get()); }

double hf_lib_frexp(double x, int* exponent) { return ::frexp(x, out(exponent).get()); }
double hf_lib_modf(double x, double* whole) { return ::modf(x, out(whole).get()); }
float hf_lib_modff(float x, float* whole) { return ::modff(x, out(whole).get()); }
void hf_lib_sincos(double x, double* sine, double* cosine) {
    ::sincos(x, out(sine).get(), out(cosine).get());
}

int hf_lib_inet_aton(const char* text, struct in_addr* to) {
    return ::inet_aton(text, out(to).get());
}

int hf_lib_inet_pton(int family, const char* text, void* to) {
    unsigned char address[sizeof(struct in6_addr)];
    if (!is_persistent(to)) return ::inet_pton(family, text, to);
    const int result = ::inet_pton(family, text, address);
    if (result == 1) copy(to, address, family == AF_INET ? sizeof(struct in_addr) : sizeof address);
    return result;
}

const char* hf_lib_inet_ntop(int family, const void* address, char* to, socklen_t n) {
    char text[INET6_ADDRSTRLEN];
    if (!is_persistent(to)) return ::inet_ntop(family, address, to, n);
    const socklen_t room = std::min(n, static_cast<socklen_t>(sizeof text));
    if (::inet_ntop(family, address, text, room) == nullptr) return nullptr;
    copy(to, text, std::strlen(text) + 1);
    return to;
}

}  // extern "C"
