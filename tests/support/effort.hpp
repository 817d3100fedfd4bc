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

/// The same where a sanitizer makes each step ten times as long: then a tenth.
[[nodiscard]] inline unsigned scaled(double usual) {
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
    return static_cast<unsigned>(effort(usual * share));
}

}  // namespace hf::test
