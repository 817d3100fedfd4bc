// record.hpp: a value, and the part of its key that layer 0 does not store.
//
//   block header 16 | word 8 | value | tail
//
// The tail is the key from its ninth byte on (empty for keys of up to eight bytes). It is stored in
// the record instead of the leaf, and begins at the same byte in every layer: so an insert is one
// allocation and one in-line log of the permutation, and a record's bytes do not change when a new
// layer takes it over. Records are immutable once they are published; a new value is a new record.
//
// The word: | checksum 16 | checksum 4 | tail size 12 | checksum 5 | value size 27 |. The checksum
// covers the whole key, the value, and the record's offset, so it also detects a record found under
// another key, or at another record's place. With 25 bits, one in 33 million damaged records goes
// undetected. A checksum is never 0: records of a root of format 1 may have none (formats.hpp).
//
// A leaf's value word: | seal 16 | offset of the record or of a layer's root, 44 bits | kind 4 |
#pragma once

#include "base/bits.hpp"
#include "base/checksum.hpp"
#include "index/masstree/key.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace hf::masstree_detail {

/// A record's first eight bytes.
class record_word {
   public:
    record_word() = default;
    explicit constexpr record_word(u64 word) noexcept : word_(word) {}
    constexpr record_word(u64 value_size, u64 tail_size, u32 checksum) noexcept
        : word_((value_size & value_mask) | (tail_size & tail_mask) << tail_shift |
                (checksum & low_mask) << low_shift | u64{checksum >> low_bits} << high_shift) {}

    [[nodiscard]] constexpr u64 word() const noexcept { return word_; }
    [[nodiscard]] constexpr u64 value_size() const noexcept { return word_ & value_mask; }
    [[nodiscard]] constexpr u64 tail_size() const noexcept {
        return word_ >> tail_shift & tail_mask;
    }
    [[nodiscard]] constexpr u32 checksum() const noexcept {
        return static_cast<u32>((word_ >> low_shift & low_mask) | word_ >> high_shift << low_bits);
    }

    /// A checksum of checksum_bits bits, never 0.
    [[nodiscard, gnu::always_inline]] static u32 checksum_of(std::string_view key,
                                                             std::string_view value,
                                                             u64 offset) noexcept {
        const u64 h = checksum64_of_two(key, value, offset);
        const u32 folded = static_cast<u32>(h ^ h >> 32) >> (32 - checksum_bits);
        return folded != 0 ? folded : 1;
    }

   private:
    static constexpr unsigned low_shift = 27;
    static constexpr unsigned low_bits = 5;
    static constexpr unsigned tail_shift = 32;
    static constexpr unsigned high_shift = 44;
    static constexpr unsigned checksum_bits = 64 - high_shift + low_bits;
    static constexpr u64 value_mask = (u64{1} << low_shift) - 1;
    static constexpr u64 low_mask = (u64{1} << low_bits) - 1;
    static constexpr u64 tail_mask = (u64{1} << (high_shift - tail_shift)) - 1;

    u64 word_ = 0;
};
static_assert(sizeof(record_word) == 8);

struct record {
    record_word head;

    [[nodiscard]] const char* bytes() const noexcept {
        return reinterpret_cast<const char*>(this + 1);
    }
    [[nodiscard]] char* bytes() noexcept { return reinterpret_cast<char*>(this + 1); }
    [[nodiscard]] std::string_view value() const noexcept { return {bytes(), head.value_size()}; }
    [[nodiscard]] std::string_view tail() const noexcept {
        return {bytes() + head.value_size(), head.tail_size()};
    }
    /// Bytes of the whole record, without the block header.
    [[nodiscard]] u64 payload() const noexcept {
        return sizeof(*this) + head.value_size() + head.tail_size();
    }
    /// Whether the record at `offset` contains what was written there under this key.
    [[nodiscard]] bool is_sound(std::string_view key, u64 offset) const noexcept {
        return head.checksum() == record_word::checksum_of(key, value(), offset);
    }
    /// The key after its slices down to this layer; empty if the tail is too short.
    [[nodiscard]] std::string_view rest(std::size_t layer) const noexcept {
        const std::string_view all = tail();
        return all.substr(std::min(all.size(), layer * slice_size));
    }
    /// Whether the rest of the key equals the record's; their slices down to the cursor's depth are
    /// equal.
    [[nodiscard]] bool rest_equals(const key_cursor& key) const noexcept {
        return rest(key.depth()) == key.rest();
    }
};
static_assert(sizeof(record) == 8);

/// The part of a key that is stored in its record.
[[nodiscard]] inline std::string_view tail_of(std::string_view key) noexcept {
    return key.substr(std::min<std::size_t>(key.size(), slice_size));
}

[[nodiscard]] inline u64 record_payload(std::string_view key, u64 value_size) noexcept {
    return sizeof(record) + value_size + tail_of(key).size();
}

/// Fills a record at `offset`, which has room for record_payload() bytes.
inline void fill_record(record* r, std::string_view key, std::string_view value,
                        u64 offset) noexcept {
    const std::string_view tail = tail_of(key);
    r->head = record_word(value.size(), tail.size(), record_word::checksum_of(key, value, offset));
    if (!value.empty()) std::memcpy(r->bytes(), value.data(), value.size());
    if (!tail.empty()) std::memcpy(r->bytes() + value.size(), tail.data(), tail.size());
}

/// A leaf's value word or, in the same place, an in-cache-line log word (leaf_log.hpp).
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
/// The word without its seal.
[[nodiscard]] constexpr u64 plain(u64 word) noexcept { return word & (offset_field | kind_field); }
}  // namespace value_word

}  // namespace hf::masstree_detail
