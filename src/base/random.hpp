// base/random.hpp: small, fast, reproducible generators for tests, benchmarks and back-off.
//
// Both model std::uniform_random_bit_generator. Neither is fit for secrets. Literature: Steele,
// Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014 (splitmix64); Blackman,
// Vigna, "Scrambled linear pseudorandom number generators", TOMS 2021 (xoshiro256**).
#pragma once

#include "base/bits.hpp"

#include <bit>
#include <limits>

namespace hf {

class splitmix64 {
   public:
    using result_type = u64;

    explicit constexpr splitmix64(u64 seed = 0) noexcept : state_(seed) {}

    static constexpr u64 min() noexcept { return 0; }
    static constexpr u64 max() noexcept { return std::numeric_limits<u64>::max(); }

    constexpr u64 operator()() noexcept {
        state_ += 0x9e3779b97f4a7c15U;
        u64 z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }

   private:
    u64 state_;
};

class xoshiro256ss {
   public:
    using result_type = u64;

    /// Any seed will do, 0 included: the state is filled by splitmix64, which never yields four
    /// zeros in a row.
    explicit constexpr xoshiro256ss(u64 seed = 0) noexcept {
        splitmix64 filler(seed);
        for (u64& word : state_) word = filler();
    }

    static constexpr u64 min() noexcept { return 0; }
    static constexpr u64 max() noexcept { return std::numeric_limits<u64>::max(); }

    constexpr u64 operator()() noexcept {
        const u64 drawn = std::rotl(state_[1] * 5, 7) * 9;
        const u64 shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return drawn;
    }

    /// Uniform in [0, n), exactly: draws below the largest multiple of n are kept. `n` must not be
    /// 0.
    constexpr u64 below(u64 n) noexcept {
        const u64 reject_under = (0 - n) % n;
        for (;;) {
            const auto product = static_cast<wide>((*this)()) * n;
            if (static_cast<u64>(product) >= reject_under) return static_cast<u64>(product >> 64);
        }
    }

    /// Uniform in [0, 1), 53 random bits.
    constexpr double unit() noexcept { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

   private:
    __extension__ using wide = unsigned __int128;

    u64 state_[4]{};
};

}  // namespace hf
