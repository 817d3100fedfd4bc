// base/check.hpp: a programmer's error stops the process with a message.
//
// HF_CHECK stays in every build: a store that goes on after a broken invariant writes the damage to
// the medium. HF_ASSERT is for checks too dear for a hot path; it is compiled (so it cannot rot)
// but runs without NDEBUG only.
#pragma once

namespace hf::detail {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* message) noexcept;

}  // namespace hf::detail

namespace hf {

/// The environment has done something after which nothing that is said would be sure, a failed sync
/// above all: the message goes to stderr, the process aborts.
[[noreturn]] void fatal(const char* message) noexcept;

}  // namespace hf

#define HF_CHECK(condition, message)                                               \
    do {                                                                           \
        if (!(condition)) [[unlikely]]                                             \
            ::hf::detail::check_failed(__FILE__, __LINE__, #condition, (message)); \
    } while (false)

/// Whether HF_ASSERT runs: for what must be computed before it.
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
