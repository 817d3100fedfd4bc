// region/arena.hpp: where regions live in the address space.
//
// At first use one arena is reserved (PROT_NONE, no memory, no swap) and cut into aligned windows:
// 16 of 1 TiB, if possible. A region is mapped at the start of a window. What addresses tell by
// that, and pointers of 8 bytes that stand on it, is holdfast/pointer.hpp.
//
//    arena   | window 0      | window 1      | ...            | window n-1    |
//            ^ aligned to 2^window_bits
//            [region, mapped][PROT_NONE    ]
//
// Concurrency. Taking and returning windows is thread safe; the questions are wait-free and may be
//  asked at any time.
// Bad input. If the kernel refuses (ulimit -v), fewer windows are tried down to one; then
//  errc::no_space.
#pragma once

#include <holdfast/pointer.hpp>
#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <atomic>
#include <cstddef>

namespace hf {

inline constexpr unsigned wanted_windows = 16;

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
