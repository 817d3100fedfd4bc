// tests/support/effort.hpp: scales the work of tests.
#pragma once

#include <cstdlib>
#include <type_traits>

namespace hf::test {

/// `usual` times HF_EFFORT (1 if unset), and at least 1: repetitions, operations, generated cases.
/// `./dev test --long` uses more, a slow machine may use a fraction.
template <class T>
[[nodiscard]] T effort(T usual) {
    static_assert(std::is_arithmetic_v<T>);
    static const double factor = [] {
        const char* const text = std::getenv("HF_EFFORT");
        const double asked = text == nullptr ? 1 : std::strtod(text, nullptr);
        return asked > 0 ? asked : 1;
    }();
    const auto wanted = static_cast<T>(static_cast<double>(usual) * factor);
    return wanted < T{1} ? T{1} : wanted;
}

/// Whether a sanitizer slows the code down considerably.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

/// `usual`, or `sanitized` under a sanitizer, which learns nothing from further repetitions of a
/// path. The release build runs all of them.
template <class T>
[[nodiscard]] T effort(T usual, T sanitized) {
    return effort(is_sanitized ? sanitized : usual);
}

/// A tenth under a sanitizer.
[[nodiscard]] inline unsigned scaled(double usual) {
    return static_cast<unsigned>(effort(usual, usual * 0.1));
}

}  // namespace hf::test
