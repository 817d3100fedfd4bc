// tests/effort.hpp: how much of a test whose length is a matter of choice is done.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace hf::test {

/// $HF_EFFORT, 1 where it is not set: `./dev test` takes 1, a long run more.
inline double effort() {
    const char* const text = std::getenv("HF_EFFORT");
    const double asked = text != nullptr ? std::strtod(text, nullptr) : 1.0;
    return asked > 0 ? asked : 1.0;
}

/// So many of `n` at effort 1; never none. Under a sanitizer a tenth: there each step takes ten.
inline unsigned scaled(double n) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    constexpr double share = 0.1;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
    constexpr double share = 0.1;
#else
    constexpr double share = 1;
#endif
#else
    constexpr double share = 1;
#endif
    return static_cast<unsigned>(std::max(1.0, n * share * effort()));
}

}  // namespace hf::test
