// hot/draft.hpp: a modifiable copy of a node in ordinary memory, with the absolute positions of its
// bits.
//
// Nodes on the medium are immutable, so a change loads a node into a draft, adds or removes an
// entry, and writes a new node. Sparse keys are aligned to the top of 32 bits here: the node's
// first bit is bit 31.
#pragma once

#include "index/hot/search.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace hf::hot_detail {

struct draft {
    static constexpr u32 top = u32{1} << 31;

    u32 count;
    u32 height;
    u32 bit_count;
    bool has_dead;  ///< when it was loaded
    // One entry more than a node can have; then the draft is split.
    std::array<u16, most_entries> bits;  ///< positions, ascending
    std::array<u32, most_entries + 1> sparse;
    std::array<u64, most_entries + 1> words;

    /// A mask of the bits above the bit of this rank.
    [[nodiscard]] static constexpr u32 above(u32 rank) noexcept {
        return rank == 0 ? 0 : ~u32{0} << (32 - rank);
    }
    [[nodiscard]] u32 rank_of(u32 bit) const noexcept {
        u32 r = 0;
        while (r < bit_count && bits[r] < bit) ++r;
        return r;
    }

    /// Whether load() can take the node, which may be damaged.
    [[nodiscard]] bool has_room_for(const node* n, u64 word) const noexcept {
        const what w = slot_word::what_of(word);
        u32 all = 0;
        for (u32 g = 0; g < (has_groups(w) ? groups_of(w) : 1); ++g) {
            all += static_cast<u32>(std::popcount(n->masks[g]));
        }
        const u32 entries = slot_word::count_of(word);
        return all != 0 && all < entries && entries <= most_entries;
    }
    void load(node* n, u64 word) noexcept {
        const what w = slot_word::what_of(word);
        count = slot_word::count_of(word);
        height = n->height();
        bit_count = 0;
        const u32 groups = has_groups(w) ? groups_of(w) : 1;
        const u32 window = n->window();
        for (u32 g = 0; g < groups; ++g) {
            for (u64 left = n->masks[g]; left != 0;) {
                const auto at = static_cast<u32>(std::countl_zero(left));
                left &= ~(u64{1} << (63 - at));
                const u32 byte =
                    has_groups(w) ? n->byte_numbers(w)[8 * g + at / 8] : window + at / 8;
                bits[bit_count++] = static_cast<u16>(8 * byte + at % 8);
            }
        }
        const u32 shift = 32 - bit_count;
        const std::byte* keys = n->behind<std::byte>(keys_at(w));
        if (width_bits(w) == 0) {
            for (u32 i = 0; i < count; ++i) sparse[i] = u32{as<u8>(keys)[i]} << shift;
        } else if (width_bits(w) == 1) {
            for (u32 i = 0; i < count; ++i) sparse[i] = u32{as<u16>(keys)[i]} << shift;
        } else {
            for (u32 i = 0; i < count; ++i) sparse[i] = as<u32>(keys)[i] << shift;
        }
        const published* from = n->words(word);
        has_dead = false;
        for (u32 i = 0; i < count; ++i) {
            words[i] = from[i].load();
            has_dead |= slot_word::what_of(words[i]) == what::dead;
        }
    }
    /// Whether the bit positions ascend and are below `end`; false for a damaged node.
    [[nodiscard]] bool has_bits_below(u32 end) const noexcept {
        bool ascend = bits[bit_count - 1] < end;
        for (u32 i = 1; i < bit_count; ++i) ascend &= bits[i - 1] < bits[i];
        return ascend;
    }
    /// Makes a draft of two entries that differ at `bit`.
    void make_pair(u32 bit, u64 zero, u64 one, u32 with_height) noexcept {
        count = 2;
        height = std::min<u32>(with_height, 0xfff);
        bit_count = 1;
        bits[0] = static_cast<u16>(bit);
        sparse[0] = 0;
        sparse[1] = top;
        words[0] = zero;
        words[1] = one;
    }

    /// The first and last of the entries that share the entry's path above the bit of this rank.
    [[nodiscard]] std::pair<u32, u32> sharing(u32 entry, u32 rank) const noexcept {
        const u32 mask = above(rank);
        u32 first = entry;
        u32 last = entry;
        while (first > 0 && ((sparse[first - 1] ^ sparse[entry]) & mask) == 0) --first;
        while (last + 1 < count && ((sparse[last + 1] ^ sparse[entry]) & mask) == 0) ++last;
        return {first, last};
    }

    /// Adds an entry that leaves the path of `entry` at `bit`, which is not on that path, with the
    /// bit value `one`.
    void add(u32 entry, u32 bit, bool one, u64 word) noexcept {
        const u32 rank = rank_of(bit);
        if (rank == bit_count || bits[rank] != bit) add_bit(rank, bit);
        const u32 mine = top >> rank;
        const auto [first, last] = sharing(entry, rank);
        const u32 way = sparse[entry] & above(rank);
        if (!one) {
            for (u32 i = first; i <= last; ++i) sparse[i] |= mine;
        }
        const u32 at = one ? last + 1 : first;
        for (u32 i = count; i > at; --i) {
            sparse[i] = sparse[i - 1];
            words[i] = words[i - 1];
        }
        sparse[at] = one ? way | mine : way;
        words[at] = word;
        ++count;
    }
    /// Removes an entry; there are three or more.
    void remove(u32 entry) noexcept {
        const u32 before = entry == 0 ? 0 : sparse[entry - 1] ^ sparse[entry];
        const u32 behind = entry + 1 == count ? 0 : sparse[entry] ^ sparse[entry + 1];
        // The entry's lowest branch is the lower one of the branches to its two neighbours.
        const u32 low_before = before == 0 ? 0 : std::bit_floor(before);
        const u32 low_behind = behind == 0 ? 0 : std::bit_floor(behind);
        if (low_behind != 0 && (low_before == 0 || low_behind < low_before)) {
            const u32 mask = ~(low_behind | (low_behind - 1));
            const u32 way = sparse[entry] & mask;
            for (u32 i = entry + 1; i < count && (sparse[i] & mask) == way; ++i) {
                sparse[i] &= ~low_behind;
            }
        }
        --count;
        for (u32 i = entry; i < count; ++i) {
            sparse[i] = sparse[i + 1];
            words[i] = words[i + 1];
        }
        drop_unused_bits();
    }
    /// Splits at the first bit; afterwards *this must not be used. False: the entries are damaged
    /// and do not form two nodes.
    [[nodiscard]] bool split(draft& zeros, draft& ones) const noexcept {
        u32 middle = 0;
        while (middle < count && (sparse[middle] & top) == 0) ++middle;
        take(zeros, 0, middle);
        take(ones, middle, count);
        return zeros.tells_apart() && ones.tells_apart();
    }
    /// Each bit separates two entries, so a sound node has fewer bits than entries, and there is
    /// room for the bits of further entries.
    [[nodiscard]] bool tells_apart() const noexcept { return bit_count < count; }

    [[nodiscard]] bool fits_a_window() const noexcept {
        return bits[bit_count - 1] / 8 - bits[0] / 8 < 8;
    }

   private:
    template <class T>
    [[nodiscard]] static const T* as(const std::byte* p) noexcept {
        return reinterpret_cast<const T*>(p);
    }
    void add_bit(u32 rank, u32 bit) noexcept {
        for (u32 i = bit_count; i > rank; --i) bits[i] = bits[i - 1];
        bits[rank] = static_cast<u16>(bit);
        ++bit_count;
        const u32 mask = above(rank);
        for (u32 i = 0; i < count; ++i) sparse[i] = (sparse[i] & mask) | (sparse[i] & ~mask) >> 1;
    }
    void take(draft& to, u32 from, u32 end) const noexcept {
        to.count = end - from;
        to.height = height;
        to.bit_count = bit_count;
        to.bits = bits;
        for (u32 i = from; i < end; ++i) {
            to.sparse[i - from] = sparse[i] & ~top;
            to.words[i - from] = words[i];
        }
        to.drop_unused_bits();
    }
    void drop_unused_bits() noexcept {
        u32 used = 0;
        for (u32 i = 0; i < count; ++i) used |= sparse[i];
        if (used == above(bit_count)) return;
        u32 n = 0;
        for (u32 i = 0; i < bit_count; ++i) {
            if ((used & top >> i) != 0) bits[n++] = bits[i];
        }
        bit_count = n;
        if (n == 0) return;
        for (u32 i = 0; i < count; ++i) {
            sparse[i] = static_cast<u32>(search::extract(sparse[i], used)) << (32 - n);
        }
    }
};

/// The format of the draft's node on the medium.
struct node_plan {
    what kind;
    u32 window;

    template <class Path>
    [[nodiscard]] static node_plan of(const draft& d) noexcept {
        const u32 width = d.bit_count <= 8 ? 0 : d.bit_count <= 16 ? 1 : 2;
        if constexpr (Path::is_short) {
            return {static_cast<what>(4 + width), 0};
        } else {
            if (d.fits_a_window()) {
                return {static_cast<what>(4 + width),
                        std::min<u32>(d.bits[0] / 8, Path::last_window)};
            }
            u32 bytes = 1;
            for (u32 i = 1; i < d.bit_count; ++i) bytes += d.bits[i] / 8 != d.bits[i - 1] / 8;
            return {bytes <= 16 && d.bit_count <= 16 ? what::m16 : what::m32, 0};
        }
    }
};

/// A node is made here, in whole lines, and then copied to the medium. Bytes after the node are
/// zero.
struct alignas(line_size) node_buffer {
    static constexpr u32 bytes = 512;
    std::array<std::byte, bytes> at;

    [[nodiscard]] node* get() noexcept { return reinterpret_cast<node*>(at.data()); }
};
static_assert(size_of(slot_word::of(what::m32, most_entries, 0)) <= node_buffer::bytes);

/// Fills a node that is not reachable yet.
inline void write_node(node* n, u64 word, const node_plan& plan, const draft& d,
                       u32 generation) noexcept {
    const what w = plan.kind;
    n->lock.fill(node::fresh_lock(d.height, plan.window, generation));
    if (has_groups(w)) {
        u16* numbers = n->byte_numbers(w);
        for (u32 g = 0; g < groups_of(w); ++g) n->masks[g] = 0;
        for (u32 i = 0; i < 8 * groups_of(w); ++i) numbers[i] = 0;
        u32 byte = 0;
        for (u32 i = 0; i < d.bit_count; ++i) {
            if (i != 0 && d.bits[i] / 8 != d.bits[i - 1] / 8) ++byte;
            numbers[byte] = static_cast<u16>(d.bits[i] / 8);
            n->masks[byte / 8] |= u64{1} << (63 - (8 * (byte % 8) + d.bits[i] % 8));
        }
    } else {
        u64 mask = 0;
        for (u32 i = 0; i < d.bit_count; ++i) {
            mask |= u64{1} << (63 - (d.bits[i] - 8 * plan.window));
        }
        n->masks[0] = mask;
    }
    const u32 shift = 32 - d.bit_count;
    if (width_bits(w) == 0) {
        u8* keys = n->behind<u8>(keys_at(w));
        for (u32 i = 0; i < d.count; ++i) keys[i] = static_cast<u8>(d.sparse[i] >> shift);
    } else if (width_bits(w) == 1) {
        u16* keys = n->behind<u16>(keys_at(w));
        for (u32 i = 0; i < d.count; ++i) keys[i] = static_cast<u16>(d.sparse[i] >> shift);
    } else {
        u32* keys = n->behind<u32>(keys_at(w));
        for (u32 i = 0; i < d.count; ++i) keys[i] = d.sparse[i] >> shift;
    }
    published* to = n->words(word);
    for (u32 i = 0; i < d.count; ++i) to[i].fill(d.words[i]);
}

}  // namespace hf::hot_detail
