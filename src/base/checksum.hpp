// base/checksum.hpp: the one checksum of everything on the medium (XXH3, 64 bits).
//
// It recognises torn and flipped bytes, not an adversary's.
#pragma once

#include "base/bits.hpp"

#include <cstddef>
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

/// As if the pieces lay one behind the other.
[[nodiscard]] inline u64 checksum64(std::span<const std::span<const std::byte>> pieces,
                                    u64 seed) noexcept {
    XXH3_state_t state;
    // Without this the reset takes the secret of an earlier call for its own, if the stack still
    // holds that call's seed.
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    for (const auto& piece : pieces) XXH3_64bits_update(&state, piece.data(), piece.size());
    return XXH3_64bits_digest(&state);
}

/// The same, of bytes that come one piece after the other.
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
