// base/tsan.hpp: HF_TSAN is defined if ThreadSanitizer is active. It models neither fences between
// processors nor vector instructions. read_unchecked() is for accesses that it must not judge.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define HF_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HF_TSAN 1
#endif
#endif

#include <cstdint>

namespace hf {

/// Reads a word to which another thread may store plainly at the same time. The caller has argued
/// that such a value does no harm. Only for that: ThreadSanitizer does not check the access.
__attribute__((no_sanitize("thread"))) inline std::uint64_t read_unchecked(
    const void* word) noexcept {
    return *static_cast<const volatile std::uint64_t*>(word);
}

}  // namespace hf
