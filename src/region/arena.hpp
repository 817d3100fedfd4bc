// region/arena.hpp: where regions live in the address space.
//
// At first use one arena is reserved (PROT_NONE, no memory, no swap) and cut into aligned windows:
// 16 of 1 TiB, if possible. A region is mapped at the start of a window. holdfast/pointer.hpp tests
// addresses by this layout, and has pointers of 8 bytes that depend on it.
//
//    arena   | window 0      | window 1      | ...            | window n-1    |
//            ^ aligned to 2^window_bits
//            [region, mapped][PROT_NONE    ]
//
// Where it lies. At arena_address, the second 2^44 bytes of the address space, if that range is
// free: then an address says by its upper bits alone that it is persistent, and a region that keeps
// its address (region_options::keep_address) finds it free again in the next process. Otherwise
// where the kernel puts it.
//
// Scarce address space. If the kernel refuses 16 windows, 8, 4, 2 and 1 are tried, then a single
// short window: it begins at a multiple of window_size as all windows do, but only its first bytes
// are reserved, a quarter to a half of what is left. No other mapping with access lies in the
// window_size bytes from its start on. So the questions of pointer.hpp stay the same comparisons:
// is_persistent() compares with the bytes reserved, same_region() with the upper bits.
//
//    ulimit -v         a short window at arena_address
//    Valgrind          the same: it puts mappings below 128 GiB unless they have a fixed address.
//                      (A reservation costs it time by length, so a large one is never tried.)
//    ThreadSanitizer   in a program; the library is compiled without it. It ends the process when
//                      a mapping lies outside of the ranges that it knows (0x55.. and 0x56..,
//                      beside those of the stack and its own heap): the short window is in one of
//                      these two
//
// Concurrency. Taking and returning windows is thread safe; the queries are wait-free and may be
//  called at any time.
// Bad input. If the kernel refuses a short window of least_window bytes, too: errc::no_space.
#pragma once

#include <holdfast/pointer.hpp>
#include <holdfast/result.hpp>

#include "base/bits.hpp"

#include <atomic>
#include <cstddef>
#include <optional>

namespace hf {

inline constexpr unsigned wanted_windows = 16;
/// Number 2 in units of 2^44 bytes (holdfast/section_hooks.h).
inline constexpr u64 arena_address = u64{2} << 44;
/// A short window has at least as many bytes.
inline constexpr u64 least_window = u64{16} << 20;

/// A window for one region, returned when destroyed. All its pages are PROT_NONE before and after.
class window {
   public:
    /// The first that is free. errc::no_space when all windows are taken or the arena cannot be
    /// reserved.
    [[nodiscard]] static result<window> take();
    /// The window that starts at `address`. errc::busy when it is taken, errc::incompatible when no
    /// window of this process starts there, errc::no_space when the arena cannot be reserved.
    [[nodiscard]] static result<window> take_at(u64 address);
    /// Window number `index`, from 0 on, with the same errors.
    [[nodiscard]] static result<window> take_number(unsigned index);

    window() noexcept = default;
    window(const window&) = delete;
    window& operator=(const window&) = delete;
    window(window&& other) noexcept : base_(other.base_) { other.base_ = nullptr; }
    window& operator=(window&& other) noexcept;
    ~window();

    [[nodiscard]] std::byte* base() const noexcept { return base_; }
    /// Bytes from base() on that may be mapped: window_size, or fewer in a short window.
    /// window_size before the first use.
    [[nodiscard]] static u64 bytes() noexcept;

   private:
    explicit window(std::byte* base) noexcept : base_(base) {}
    [[nodiscard]] static result<window> take_free(std::optional<unsigned> number);
    std::byte* base_ = nullptr;
};

/// Windows that the arena has: wanted_windows or fewer; 0 before the first use.
[[nodiscard]] unsigned window_count() noexcept;

}  // namespace hf
