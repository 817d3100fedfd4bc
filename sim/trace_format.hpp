// sim/trace_format.hpp: the bytes of a trace, as trace.hpp describes them: for writer and reader.
#pragma once

#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "sim/trace.hpp"

#include <array>
#include <cstring>

namespace hf::sim::trace_format {

using magic_bytes = std::array<char, 8>;
inline constexpr magic_bytes magic{'H', 'F', 'T', 'R', 'A', 'C', 'E', '\n'};
inline constexpr std::size_t max_block_bytes = 64U << 10;
inline constexpr std::size_t max_event_bytes = 1 + 5 + 10;

inline constexpr unsigned load_kind = 0;
inline constexpr unsigned store_kind = 1;
inline constexpr unsigned begin_kind = 2;
inline constexpr unsigned commit_kind = 3;
inline constexpr unsigned abort_kind = 4;
inline constexpr unsigned shootdown_kind = 5;
inline constexpr unsigned kind_mask = 7;
inline constexpr unsigned core_shift = 3;
inline constexpr unsigned core_mask = 3;
inline constexpr unsigned size_shift = 5;
inline constexpr unsigned odd_size = 0x80;
inline constexpr u64 max_access_bytes = 1U << 20;

using header_bytes = std::array<char, 32>;
using block_bytes = std::array<char, 16>;

template <class T, class Bytes>
void put(Bytes& to, std::size_t at, const T& value) {
    std::memcpy(to.data() + at, &value, sizeof value);
}
template <class T, class Bytes>
[[nodiscard]] T get(const Bytes& from, std::size_t at) {
    T value;
    std::memcpy(&value, from.data() + at, sizeof value);
    return value;
}

[[nodiscard]] inline header_bytes encode(const trace_header& h) {
    header_bytes bytes{};
    put(bytes, 0, magic);
    put(bytes, 8, h.version);
    put(bytes, 12, h.cores);
    put(bytes, 16, h.pages);
    put(bytes, 24, checksum64(bytes.data(), 24));
    return bytes;
}
[[nodiscard]] inline block_bytes encode_block(u32 bytes, u32 events, u64 checksum) {
    block_bytes head{};
    put(head, 0, bytes);
    put(head, 4, events);
    put(head, 8, checksum);
    return head;
}

[[nodiscard]] constexpr u64 zigzag(u64 difference) noexcept {
    return difference << 1 ^ (0 - (difference >> 63));
}
[[nodiscard]] constexpr u64 unzigzag(u64 coded) noexcept { return coded >> 1 ^ (0 - (coded & 1)); }

}  // namespace hf::sim::trace_format
