// cell.hpp: the contents of a leaf's slot: a record, a layer, or a small value.
//
// Leaves that store small values: inlined/leaf.hpp. All nodes of such a tree are six lines long.
#pragma once

#include "base/bits.hpp"
#include "index/masstree/key.hpp"

#include <cstring>
#include <string_view>

namespace hf::masstree_detail {

inline constexpr u64 inlined_node_block = 384;
inline constexpr u64 inlined_node_payload = inlined_node_block - 16;

/// The kind of a slot's contents, stored in its check: an inlined value's size, or one of these.
namespace cell_kind {
inline constexpr unsigned longest = 8;
inline constexpr unsigned none = 9;  ///< in a log: no value was logged
inline constexpr unsigned record = 14;
inline constexpr unsigned layer = 15;
[[nodiscard]] constexpr bool is_inline(unsigned kind) noexcept { return kind <= longest; }
[[nodiscard]] constexpr bool is_known(unsigned kind) noexcept {
    return kind <= longest || kind == record || kind == layer;
}
}  // namespace cell_kind

struct cell {
    u64 word = 0;
    unsigned kind = cell_kind::none;
    unsigned check = 0;  ///< as read from the leaf; 0 if the cell was made otherwise

    [[nodiscard]] static cell of_value(std::string_view value) noexcept {
        cell made{0, static_cast<unsigned>(value.size())};
        if (!value.empty()) std::memcpy(&made.word, value.data(), value.size());
        return made;
    }
    /// The bytes of an inlined value; the view lives as long as the cell.
    [[nodiscard]] std::string_view value() const noexcept {
        return {reinterpret_cast<const char*>(&word), kind};
    }
    [[nodiscard]] bool operator==(const cell& other) const noexcept {
        return word == other.word && kind == other.kind;
    }
};

/// Whether a value can be stored in a leaf that has inlined values.
[[nodiscard]] constexpr bool fits_inline(std::size_t key_size, std::size_t value_size) noexcept {
    return key_size <= slice_size && value_size <= cell_kind::longest;
}

}  // namespace hf::masstree_detail
