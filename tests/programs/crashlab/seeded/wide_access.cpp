#include "crashlab/seeded/wide_access.hpp"

#include "base/checksum.hpp"

namespace hf::lab::seeded {

u64 checksum_of(std::span<const std::byte> bytes) noexcept {
    return checksum64(bytes.data(), bytes.size());
}

void change_words(u64* to, const u64* from) noexcept {
    const u64 a = from[0];
    const u64 b = from[1];
    const u64 c = from[2];
    const u64 d = from[3];
    const u64 e = from[4];
    const u64 f = from[5];
    const u64 g = from[6];
    const u64 h = from[7];
    to[0] = 3 * a;
    to[1] = 3 * b + 1;
    to[2] = 3 * c + 2;
    to[3] = 3 * d + 3;
    to[4] = 3 * e + 4;
    to[5] = 3 * f + 5;
    to[6] = 3 * g + 6;
    to[7] = 3 * h + 7;
}

void change_many(u64* to, const u64* from, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) to[i] = 3 * from[i] + i;
}

}  // namespace hf::lab::seeded
