// record.hpp: a value, with the part of its key that layer 0 does not hold.
//
//   block header 16 | value size 4 | tail size 2 | 0 2 | value | tail
//
// The tail is the key from its ninth byte on (nothing for keys up to eight bytes). It belongs to
// the record and not to the leaf, and counts from the key's start and not from the layer's: so an
// insert is one allocation and one in-line log of the permutation, and a record keeps its bytes
// when a new layer takes it over. Records never change once they are published; a new value is a
// new record.
//
// A leaf's value word: | 0 16 | offset of the record or of a layer's root, 44 bits | kind 4 |
#pragma once

#include "base/bits.hpp"
#include "index/masstree/key.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace hf::masstree_detail {

struct record {
    u32 value_size;
    u16 tail_size;
    u16 zero;

    [[nodiscard]] const char* bytes() const noexcept {
        return reinterpret_cast<const char*>(this + 1);
    }
    [[nodiscard]] char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
    [[nodiscard]] std::string_view value() const noexcept { return {bytes(), value_size}; }
    [[nodiscard]] std::string_view tail() const noexcept {
        return {bytes() + value_size, tail_size};
    }
    /// Bytes in all, without the block header.
    [[nodiscard]] u64 payload() const noexcept {
        return sizeof(*this) + u64{value_size} + tail_size;
    }

    /// Whether a key with equal slices up to `depth` is this record's.
    [[nodiscard]] bool rest_equals(const key_cursor& key) const noexcept {
        const std::string_view mine = tail().substr(key.depth() * slice_size);
        return mine == key.rest();
    }
};
static_assert(sizeof(record) == 8);

/// What a record has of its key.
[[nodiscard]] inline std::string_view tail_of(std::string_view key) noexcept {
    return key.substr(std::min<std::size_t>(key.size(), slice_size));
}

[[nodiscard]] inline u64 record_payload(std::string_view key, u64 value_size) noexcept {
    return sizeof(record) + value_size + tail_of(key).size();
}

/// Fills everything but the value's bytes.
inline void init_record(record* r, std::string_view key, u64 value_size) noexcept {
    const std::string_view tail = tail_of(key);
    r->value_size = static_cast<u32>(value_size);
    r->tail_size = static_cast<u16>(tail.size());
    r->zero = 0;
    if (!tail.empty()) std::memcpy(r->bytes() + value_size, tail.data(), tail.size());
}

/// A leaf's value word, or, in the same place, an in-cache-line log word (leaf_log.hpp).
namespace value_word {
inline constexpr u64 offset_field = 0x0000fffffffffff0;
inline constexpr u64 kind_field = 0xf;
inline constexpr u64 record_kind = 0xe;
inline constexpr u64 layer_kind = 0xf;

[[nodiscard]] constexpr u64 of_record(u64 offset) noexcept { return offset | record_kind; }
[[nodiscard]] constexpr u64 of_layer(u64 offset) noexcept { return offset | layer_kind; }
[[nodiscard]] constexpr bool is_layer(u64 word) noexcept {
    return (word & kind_field) == layer_kind;
}
[[nodiscard]] constexpr u64 offset(u64 word) noexcept { return word & offset_field; }
}  // namespace value_word

}  // namespace hf::masstree_detail
