// base/leak.hpp: memory that is meant to end with the process.
//
// Nodes of the malloc baseline (checkpoint/discipline.hpp) are never freed: the measurement
// ends with its process. Each such block is reported to LeakSanitizer.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define HF_LEAK_CHECK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HF_LEAK_CHECK 1
#endif
#endif

#ifdef HF_LEAK_CHECK
#include <sanitizer/lsan_interface.h>
#endif

namespace hf {

/// Declares that the block at p is deliberately never freed.
inline void ends_with_process([[maybe_unused]] const void* p) noexcept {
#ifdef HF_LEAK_CHECK
    __lsan_ignore_object(p);
#endif
}

}  // namespace hf
