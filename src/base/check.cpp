#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace hf::detail {

void check_failed(const char* file, int line, const char* condition, const char* message) noexcept {
    std::fprintf(stderr, "%s:%d: check failed: %s (%s)\n", file, line, message, condition);
    std::fflush(stderr);
    std::abort();
}

}  // namespace hf::detail

namespace hf {

void fatal(const char* message) noexcept {
    std::fprintf(stderr, "holdfast: fatal: %s\n", message);
    std::fflush(stderr);
    std::abort();
}

}  // namespace hf
