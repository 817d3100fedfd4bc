// crashlab/seeded/wide_access.hpp: code whose neighbouring scalar accesses an optimiser joins.
//
// The compiler's instrumentation knows accesses of 1, 2, 4, 8 and 16 bytes. It leaves a wider one,
// which the vectorisers make of several scalar ones, without a call. The lab then decides too late
// what a line holds: the first reader gets old bytes, and the next one gets others.
#pragma once

#include "base/bits.hpp"

#include <cstddef>
#include <span>

namespace hf::lab::seeded {

/// checksum64(), compiled here with the instrumentation.
[[nodiscard]] u64 checksum_of(std::span<const std::byte> bytes) noexcept;
/// to[i] = 3 * from[i] + i for eight words.
void change_words(u64* to, const u64* from) noexcept;
/// As change_words(), but `n` words in a loop.
void change_many(u64* to, const u64* from, std::size_t n) noexcept;

}  // namespace hf::lab::seeded
