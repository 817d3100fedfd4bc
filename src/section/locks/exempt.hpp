// section/locks/exempt.hpp: locks that make no section (hf_not_a_consistency_lock).
#pragma once

#include "base/bits.hpp"

#include <array>
#include <atomic>

namespace hf::section {

inline constexpr u32 max_exempt = 64;

namespace detail {
inline constinit std::atomic<u32> exempt_count{0};
inline constinit std::array<std::atomic<const void*>, max_exempt> exempt_locks{};
/// Has the bit of each exempt lock: a lock whose bit is not set is not exempt.
inline constinit std::atomic<u64> exempt_bits{0};
[[nodiscard]] inline u64 exempt_bit(const void* lock) noexcept {
    constexpr u64 golden_ratio = 0x9e3779b97f4a7c15;
    return u64{1} << (reinterpret_cast<u64>(lock) * golden_ratio >> 58);
}
}  // namespace detail

[[nodiscard]] inline bool is_exempt(const void* lock) noexcept {
    const u64 bits = detail::exempt_bits.load(std::memory_order_acquire);
    if ((bits & detail::exempt_bit(lock)) == 0) [[likely]]
        return false;
    const u32 n = detail::exempt_count.load(std::memory_order_acquire);
    for (u32 i = 0; i < n && i < max_exempt; ++i) {
        if (detail::exempt_locks[i].load(std::memory_order_relaxed) == lock) return true;
    }
    return false;
}
/// False: 64 are exempt already.
[[nodiscard]] inline bool add_exempt(const void* lock) noexcept {
    if (is_exempt(lock)) return true;
    const u32 i = detail::exempt_count.load(std::memory_order_relaxed);
    if (i >= max_exempt) return false;
    detail::exempt_locks[i].store(lock, std::memory_order_relaxed);
    detail::exempt_count.store(i + 1, std::memory_order_release);
    detail::exempt_bits.fetch_or(detail::exempt_bit(lock), std::memory_order_release);
    return true;
}

}  // namespace hf::section
