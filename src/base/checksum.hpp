// base/checksum.hpp: the one checksum of everything on the medium (XXH3, 64 bits).
//
// It detects torn and flipped bytes, not deliberate changes.
#pragma once

#include "base/bits.hpp"

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace hf {

[[nodiscard]] inline u64 checksum64(const void* data, std::size_t size, u64 seed = 0) noexcept {
    return XXH3_64bits_withSeed(data, size, seed);
}

namespace detail {

/// The bytes of `s` from `at` on as a T; they must exist.
template <class T>
[[nodiscard]] inline u64 read_as(std::string_view s, std::size_t at) noexcept {
    T t;
    std::memcpy(&t, s.data() + at, sizeof t);
    return t;
}

/// Up to eight bytes as a word. Together with the size it identifies the string.
[[nodiscard, gnu::always_inline]] inline u64 word_of(std::string_view s) noexcept {
    const std::size_t n = s.size();
    if (n == 8) [[likely]] {
        return read_as<u64>(s, 0);
    }
    if (n >= 4) return read_as<u32>(s, 0) | read_as<u32>(s, n - 4) << 32;
    if (n == 0) return 0;
    return read_as<u8>(s, 0) | read_as<u8>(s, n / 2) << 8 | read_as<u8>(s, n - 1) << 16;
}

/// The two halves of the product, xor-ed: each bit of a factor reaches most bits of the result.
[[nodiscard, gnu::always_inline]] inline u64 folded_product(u64 a, u64 b) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<u64>(product) ^ static_cast<u64>(product >> 64);
}

}  // namespace detail

namespace detail {

/// For a string of up to 8 bytes and one of up to 16.
[[nodiscard, gnu::always_inline]] inline u64 checksum64_of_short(std::string_view a,
                                                                 std::string_view b,
                                                                 u64 number) noexcept {
    const bool is_long = b.size() > 8;
    const u64 first = word_of(a);
    const u64 second = is_long ? read_as<u64>(b, 0) : word_of(b);
    const u64 third = is_long ? read_as<u64>(b, b.size() - 8) : 0;
    const u64 sizes = (u64{a.size()} << 56) ^ (u64{b.size()} << 48);
    // Odd constants from the digits of pi.
    const u64 both =
        folded_product(first ^ 0x243f6a8885a308d3 ^ sizes, second ^ 0x13198a2e03707345 ^ number);
    return folded_product(both ^ third ^ 0xa4093822299f31d1, 0x082efa98ec4e6c89 + number);
}

/// Out of line, to keep the callers small.
[[nodiscard, gnu::noinline]] inline u64 checksum64_of_long(std::string_view a, std::string_view b,
                                                           u64 number) noexcept {
    return checksum64(b.data(), b.size(), checksum64(a.data(), a.size(), number));
}

}  // namespace detail

/// The checksum of two strings and a number. If they have at most 8 and 16 bytes, it costs two
/// multiplications and no call: most records of a key and a value do, and each read verifies one.
[[nodiscard, gnu::always_inline]] inline u64 checksum64_of_two(std::string_view a,
                                                               std::string_view b,
                                                               u64 number) noexcept {
    if (a.size() <= 8 && b.size() <= 16) [[likely]] {
        return detail::checksum64_of_short(a, b, number);
    }
    return detail::checksum64_of_long(a, b, number);
}

/// The checksum of the concatenated pieces.
[[nodiscard]] inline u64 checksum64(std::span<const std::span<const std::byte>> pieces,
                                    u64 seed) noexcept {
    XXH3_state_t state;
    // Without this the reset would reuse the secret of an earlier call, if the stack still contains
    // that call's seed.
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    for (const auto& piece : pieces) XXH3_64bits_update(&state, piece.data(), piece.size());
    return XXH3_64bits_digest(&state);
}

/// An incremental checksum: equals checksum64() of all pieces, concatenated.
class running_checksum {
   public:
    running_checksum() noexcept {
        XXH3_INITSTATE(&state_);
        XXH3_64bits_reset(&state_);
    }
    void add(std::string_view bytes) noexcept {
        XXH3_64bits_update(&state_, bytes.data(), bytes.size());
    }
    [[nodiscard]] u64 value() const noexcept { return XXH3_64bits_digest(&state_); }

   private:
    XXH3_state_t state_;
};

}  // namespace hf
