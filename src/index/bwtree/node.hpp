// bwtree/node.hpp: the format on the medium: cells, deltas, nodes.
//
//   cell    32 bytes   cell.hpp: the indirection word of a logical node
//   delta   64 bytes   | base 48, live 8, gone 3, count 2, kind 3 | next 48, depth 8, dead 8 |
//                      | head 8, word 8 | ... three of them, the newest last
//   node               | kind, level, count | dead | next | first | low | high |    a line
//                      | heads of all entries | words of all entries |
//                      | (inner, byte strings) positions of separators | bytes of all bounds |
//
// An entry of a leaf or a delta consists of a key's head (order.hpp) and a word: the value if keys
// are integers, a record's offset if they are byte strings. An entry with its `gone` bit records a
// removal; its word refers to the removed record. An inner node has `first`, the cell of the child
// below all separators, and for each separator the cell of the child that begins there. A node has
// its own copies of the bounds that are byte strings.
//
// Deltas and nodes are immutable except for their `dead` bits, which change only while the cell is
// held.
#pragma once

#include "index/bwtree/cell.hpp"
#include "index/bwtree/order.hpp"
#include "index/common/keys.hpp"

#include <array>

namespace hf::bwtree_detail {

enum class what : u8 { nothing, delta, leaf, inner };

/// Block kinds for the sweep.
inline constexpr u32 trace_cell = 1;
inline constexpr u32 trace_block = 2;

inline constexpr u32 most_entries = 64;     ///< entries of a node
inline constexpr u32 highest_level = 255;   ///< the format's limit
inline constexpr u32 delta_entries = 3;     ///< entries of a delta
inline constexpr u32 longest_chain = 4;     ///< deltas before a chain is consolidated
inline constexpr u32 longest_allowed = 20;  ///< deltas when there is no memory to consolidate
inline constexpr u32 most_gathered = most_entries + delta_entries * (longest_allowed + 1) + 1;
static_assert(most_gathered <= 2 * most_entries, "a split makes two nodes");

struct entry {
    u64 head;
    u64 word;
};

/// Common header of deltas and nodes.
struct block {
    u64 info;
    [[nodiscard]] what kind() const noexcept { return static_cast<what>(info & 7); }
};

struct delta : block {
    std::atomic<u64> tail;
    std::array<entry, delta_entries> entries;

    [[nodiscard]] u32 count() const noexcept { return static_cast<u32>(info >> 3 & 3); }
    [[nodiscard]] bool is_gone(u32 i) const noexcept { return (info >> (5 + i) & 1) != 0; }
    [[nodiscard]] u32 live() const noexcept { return static_cast<u32>(info >> 8 & 0xff); }
    [[nodiscard]] u64 base() const noexcept { return info >> 16; }
    [[nodiscard]] u64 next() const noexcept { return tail.load(std::memory_order_relaxed) >> 16; }
    [[nodiscard]] u32 depth() const noexcept {
        return static_cast<u32>(tail.load(std::memory_order_relaxed) >> 8 & 0xff);
    }
    [[nodiscard]] bool is_dead(u32 i) const noexcept {
        return (tail.load(std::memory_order_acquire) >> i & 1) != 0;
    }
    void set_info(u64 base, u32 live, u32 gone, u32 count) noexcept {
        info = base << 16 | u64{live} << 8 | u64{gone} << 5 | u64{count} << 3 |
               static_cast<u64>(what::delta);
    }
    void set_tail(u64 next, u32 depth, u32 dead) noexcept {
        tail.store(next << 16 | u64{depth} << 8 | dead, std::memory_order_relaxed);
    }
};
static_assert(sizeof(delta) == line_size);

/// Position of a bound's bytes in its node.
struct span {
    u32 at;
    u32 bytes;
};

struct node : block {
    std::atomic<u64> dead;
    u64 next;   ///< the cell of the right neighbour; 0: none
    u64 first;  ///< (inner) the cell of the child below all separators
    u64 low_head;
    u64 high_head;
    span low;
    span high;

    [[nodiscard]] u32 level() const noexcept { return static_cast<u32>(info >> 8 & 0xff); }
    [[nodiscard]] u32 count() const noexcept { return static_cast<u32>(info >> 16 & 0xffff); }
    /// A node without a low (high) bound is the first (last) of its level.
    [[nodiscard]] bool has_low() const noexcept { return (info >> 3 & 1) != 0; }
    [[nodiscard]] bool has_high() const noexcept { return (info >> 4 & 1) != 0; }
    [[nodiscard]] bool is_dead(u32 i) const noexcept {
        return (dead.load(std::memory_order_acquire) >> i & 1) != 0;
    }
    void set_info(what kind, bool has_low, bool has_high, u32 level, u32 count) noexcept {
        info = static_cast<u64>(kind) | u64{has_low} << 3 | u64{has_high} << 4 | u64{level} << 8 |
               u64{count} << 16;
    }
    [[nodiscard]] u64* heads() noexcept { return reinterpret_cast<u64*>(this + 1); }
    [[nodiscard]] const u64* heads() const noexcept {
        return reinterpret_cast<const u64*>(this + 1);
    }
    [[nodiscard]] u64* words() noexcept { return heads() + count(); }
    [[nodiscard]] const u64* words() const noexcept { return heads() + count(); }
    [[nodiscard]] span* spans() noexcept { return reinterpret_cast<span*>(words() + count()); }
    [[nodiscard]] const span* spans() const noexcept {
        return reinterpret_cast<const span*>(words() + count());
    }
    /// A bound's bytes, cut to the longest possible key: a damaged span may be longer.
    [[nodiscard]] std::string_view bound_bytes(span s) const noexcept {
        return bytes(s).substr(0, most_key_bytes);
    }
    [[nodiscard]] std::string_view bytes(span s) const noexcept {
        return {reinterpret_cast<const char*>(this) + s.at, s.bytes};
    }
};
static_assert(sizeof(node) == line_size);

}  // namespace hf::bwtree_detail
