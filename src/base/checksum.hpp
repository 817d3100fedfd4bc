// base/checksum.hpp: the one checksum of everything on the medium (XXH3, 64 bits).
//
// It recognises torn and flipped bytes, not an adversary's.
#pragma once

#include "base/bits.hpp"

#include <cstddef>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace hf {

[[nodiscard]] inline u64 checksum64(const void* data, std::size_t size, u64 seed = 0) noexcept {
    return XXH3_64bits_withSeed(data, size, seed);
}

}  // namespace hf
