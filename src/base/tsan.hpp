// base/tsan.hpp: whether ThreadSanitizer is at work (HF_TSAN), which knows neither fences between
// processors nor vectors.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define HF_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HF_TSAN 1
#endif
#endif
