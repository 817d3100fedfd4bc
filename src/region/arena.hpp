// region/arena.hpp: where regions live in the address space.
//
// At first use one arena is reserved (PROT_NONE, no memory, no swap) and cut into aligned windows;
// a region is mapped at the start of a window. So "is it persistent?" is one subtraction and a
// comparison, the region's base is a mask, and "the same region?" is an exclusive or. Nothing on
// the medium is an address: a persistent pointer is the offset in the window, so a file may be
// opened at any window, by any process, beside a copy of itself.
//
//    arena   | window 0      | window 1      | ...            | window n-1    |
//            ^ aligned to 2^window_bits
//            [region, mapped][PROT_NONE    ]                        16 windows of 1 TiB, if
//            possible
//
// Concurrency. Taking and returning windows is thread safe; the questions are wait-free and may be
//  asked at any time.
// Bad input. If the kernel refuses (ulimit -v), fewer windows are tried down to one; then
//  errc::no_space.
#pragma once

#include "base/bits.hpp"

#include <holdfast/result.hpp>

#include <atomic>
#include <cstddef>

namespace hf {

#if defined(HF_TRACE)
// Instrumented for the crash lab: without the sanitizer's runtime, and without its limits.
#elif defined(__SANITIZE_THREAD__)
#define HF_SMALL_WINDOWS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HF_SMALL_WINDOWS 1
#endif
#endif

/// ThreadSanitizer leaves 1.5 TiB of addresses for mappings.
#ifdef HF_SMALL_WINDOWS
inline constexpr unsigned window_bits = 36;
#else
inline constexpr unsigned window_bits = 40;
#endif
inline constexpr u64 window_size = u64{1} << window_bits;
inline constexpr u64 window_mask = window_size - 1;
inline constexpr unsigned wanted_windows = 16;

namespace detail {
// Set once, size last; 0 before.
extern constinit std::atomic<u64> arena_begin;
extern constinit std::atomic<u64> arena_bytes;
}  // namespace detail

/// Whether p lies in the arena.
[[nodiscard]] inline bool is_persistent(const void* p) noexcept {
    const u64 bytes = detail::arena_bytes.load(std::memory_order_acquire);
    return reinterpret_cast<u64>(p) - detail::arena_begin.load(std::memory_order_relaxed) < bytes;
}

/// The start of the window that holds p, which must lie in the arena.
[[nodiscard]] inline std::byte* window_base(const void* p) noexcept {
    return reinterpret_cast<std::byte*>(reinterpret_cast<u64>(p) & ~window_mask);
}

/// Whether two addresses lie in the same window.
[[nodiscard]] inline bool same_region(const void* a, const void* b) noexcept {
    return (reinterpret_cast<u64>(a) ^ reinterpret_cast<u64>(b)) >> window_bits == 0;
}

/// A window for one region, returned when destroyed. All its pages are PROT_NONE before and after.
class window {
   public:
    /// errc::no_space when all windows are taken or the arena cannot be reserved.
    [[nodiscard]] static result<window> take();

    window() noexcept = default;
    window(const window&) = delete;
    window& operator=(const window&) = delete;
    window(window&& other) noexcept : base_(other.base_) { other.base_ = nullptr; }
    window& operator=(window&& other) noexcept;
    ~window();

    [[nodiscard]] std::byte* base() const noexcept { return base_; }

   private:
    explicit window(std::byte* base) noexcept : base_(base) {}
    std::byte* base_ = nullptr;
};

/// Windows that the arena has: wanted_windows or fewer; 0 before the first use.
[[nodiscard]] unsigned window_count() noexcept;

}  // namespace hf
