// key.hpp: a key as the trie sees it: 8-byte slices, one for each layer.
//
// A slice is the next eight bytes as a big-endian number, padded with zeros, so numbers are ordered
// like the bytes. Within a layer keys are ordered by slice, then by length class: 0 to 8 bytes left
// (the key ends in this slice), or `longer` (it continues). A layer has at most ten entries with
// the same slice, so they always fit in one leaf, and a split never separates them.
#pragma once

#include "base/bits.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>

namespace hf::masstree_detail {

inline constexpr unsigned slice_size = 8;
/// Maximum length of a key of the map (max_key_size).
inline constexpr std::size_t most_key_bytes = 4096;

/// Length class of a key that continues after its slice: in a record's tail, or in the next layer.
inline constexpr unsigned longer = 9;

[[nodiscard, gnu::always_inline]] inline u64 slice_of(std::string_view bytes) noexcept {
    u64 raw = 0;
    if (bytes.size() >= slice_size) [[likely]] {
        std::memcpy(&raw, bytes.data(), slice_size);
    } else if (!bytes.empty()) {
        std::memcpy(&raw, bytes.data(), bytes.size());
    }
    return __builtin_bswap64(raw);
}

/// A slice's bytes in key order: the first one at the lowest address.
[[nodiscard]] inline u64 bytes_of(u64 slice) noexcept { return __builtin_bswap64(slice); }

/// Appends the first `n` bytes of a slice to `out`.
inline void append_slice(std::string& out, u64 slice, unsigned n) {
    const u64 raw = bytes_of(slice);
    out.append(reinterpret_cast<const char*>(&raw), std::min(n, slice_size));
}

class key_cursor {
   public:
    [[gnu::always_inline]] explicit key_cursor(std::string_view key) noexcept : key_(key) {
        load();
    }

    [[nodiscard]] u64 slice() const noexcept { return slice_; }
    [[nodiscard]] unsigned length_class() const noexcept { return length_class_; }
    [[nodiscard]] unsigned depth() const noexcept { return depth_; }
    [[nodiscard]] std::string_view whole() const noexcept { return key_; }
    /// The key's bytes after the current slice.
    [[nodiscard]] std::string_view rest() const noexcept {
        const std::size_t at = (depth_ + 1) * slice_size;
        return key_.substr(std::min(at, key_.size()));
    }
    /// Moves to the next layer; length_class() must be `longer`.
    void descend() noexcept {
        ++depth_;
        load();
    }
    /// Moves back to the layer `depth`.
    void rewind(unsigned depth = 0) noexcept {
        depth_ = depth;
        load();
    }

   private:
    [[gnu::always_inline]] void load() noexcept {
        const std::string_view left = key_.substr(depth_ * slice_size);
        slice_ = slice_of(left);
        length_class_ = left.size() > slice_size ? longer : static_cast<unsigned>(left.size());
    }

    std::string_view key_;
    u64 slice_ = 0;
    unsigned length_class_ = 0;
    unsigned depth_ = 0;
};

}  // namespace hf::masstree_detail
