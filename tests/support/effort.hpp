// tests/support/effort.hpp: how hard a test tries.
#pragma once

#include <cstdlib>
#include <type_traits>

namespace hf::test {

/// `usual` times HF_EFFORT (1 if unset), and at least 1: of repetitions, operations, generated
/// cases. `./dev test --long` asks for more, a slow machine for a fraction.
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

/// Whether a sanitizer makes each step of the rooms and of the tests many times as long.
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

/// `usual`, and `sanitized` under a sanitizer: which sees what each path does, and learns nothing
/// of its thousandth time. The release build's run is the one that has them all.
template <class T>
[[nodiscard]] T effort(T usual, T sanitized) {
    return effort(is_sanitized ? sanitized : usual);
}

/// A tenth under a sanitizer.
[[nodiscard]] inline unsigned scaled(double usual) {
    return static_cast<unsigned>(effort(usual, usual * 0.1));
}

}  // namespace hf::test
