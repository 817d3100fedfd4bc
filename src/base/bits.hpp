// base/bits.hpp: integer names and alignment arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hf {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// Bytes in a cache line: the unit that reaches the medium, and within which stores keep their
/// order.
inline constexpr std::size_t line_size = 64;

[[nodiscard]] constexpr bool is_power_of_two(u64 v) noexcept {
    return v != 0 && (v & (v - 1)) == 0;
}

/// `a` must be a power of two.
[[nodiscard]] constexpr u64 align_down(u64 v, u64 a) noexcept { return v & ~(a - 1); }

/// `a` must be a power of two and v + a - 1 must not overflow.
[[nodiscard]] constexpr u64 align_up(u64 v, u64 a) noexcept { return (v + a - 1) & ~(a - 1); }

/// The object at `offset` bytes from `base`; in integers, because trees of malloc'ed nodes count
/// their offsets from address 0, on which pointer arithmetic is undefined.
template <class T>
[[nodiscard]] inline T* object_at(const std::byte* base, u64 offset) noexcept {
    return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(base) + offset);
}

/// The inverse of object_at.
[[nodiscard]] inline u64 offset_from(const std::byte* base, const void* object) noexcept {
    return reinterpret_cast<std::uintptr_t>(object) - reinterpret_cast<std::uintptr_t>(base);
}

}  // namespace hf
