// base/tsan.hpp: HF_TSAN is defined if ThreadSanitizer is active. It models neither fences between
// processors nor vector instructions.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define HF_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HF_TSAN 1
#endif
#endif
