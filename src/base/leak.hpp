// base/leak.hpp: memory that is meant to end with the process.
//
// Nodes of the malloc yardstick (checkpoint/discipline.hpp) are never walked to be freed: the
// measurement that made them ends with its process. LeakSanitizer is told so, block by block.
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

/// Nobody will free the block at p, on purpose.
inline void ends_with_process([[maybe_unused]] const void* p) noexcept {
#ifdef HF_LEAK_CHECK
    __lsan_ignore_object(p);
#endif
}

}  // namespace hf
