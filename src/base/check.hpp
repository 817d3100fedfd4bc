// base/check.hpp: a programmer's error stops the process with a message.
//
// HF_CHECK stays in every build: a store that continues after a broken invariant writes the damage
// to the medium. HF_ASSERT is for checks that are too expensive for a hot path; it is always
// compiled, but evaluated only without NDEBUG.
#pragma once

namespace hf::detail {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* message) noexcept;

}  // namespace hf::detail

namespace hf {

/// For errors of the environment after which the state of the data is unknown, mainly a failed
/// sync: prints the message to stderr and aborts the process.
[[noreturn]] void fatal(const char* message) noexcept;

}  // namespace hf

#define HF_CHECK(condition, message)                                               \
    do {                                                                           \
        if (!(condition)) [[unlikely]]                                             \
            ::hf::detail::check_failed(__FILE__, __LINE__, #condition, (message)); \
    } while (false)

/// True if HF_ASSERT is evaluated: for values that are computed only for an assertion.
#ifdef NDEBUG
namespace hf {
constexpr bool assertions_run = false;
}
#define HF_ASSERT(condition, message)              \
    do {                                           \
        if (false) HF_CHECK((condition), message); \
    } while (false)
#else
namespace hf {
constexpr bool assertions_run = true;
}
#define HF_ASSERT(condition, message) HF_CHECK((condition), message)
#endif
