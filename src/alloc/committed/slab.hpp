// alloc/committed/slab.hpp: the volatile state of a slab.
#pragma once

#include "alloc/committed/layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace hf::committed {

struct slab {
    /// Durability of the slab. absent: its pages are free, and no committed log
    /// contains it; committed: a log contains it, and may be needed; settled: its page word
    /// contains it.
    enum class stage : u8 { absent, committed, settled };

    slab(region& r, const heap_span& s, u64 page, u32 c, stage known_as)
        : offset(s.offset_of(page)),
          descriptor(descriptor_of(s, page)),
          bits(bits_of(s, page)),
          words(r.at<word>(bits)),
          size_class(c),
          blocks(slab_blocks(c)),
          bin(c),
          durable(known_as) {}

    const u64 offset;
    const u64 descriptor;  ///< offset of its word
    const u64 bits;        ///< offset of its blocks' words
    word* const words;
    const u32 size_class;
    const u32 blocks;
    std::atomic<u32> bin;  ///< the bin whose lock guards the members below; initially shard 0's
    std::atomic<stage> durable;

    bool known = false;   ///< its bits have been read
    bool listed = false;  ///< in its bin's list
    u32 movers = 0;       ///< threads that move it to other bins; guarded by the lock of its bin
    u32 free = 0;
    u32 first_word = 0;                     ///< no word before it has a free block
    std::array<u64, bit_words> taken{};     ///< owned, reserved, or about to be freed
    std::array<u64, bit_words> released{};  ///< about to be freed

    [[nodiscard]] u32 word_count() const noexcept { return (blocks + 63) / 64; }
    [[nodiscard]] u64 block_at(u32 block) const noexcept {
        return offset + u64{block} * block_size(size_class);
    }

    /// Prefetches the words that give_back() of that block changes.
    void prefetch(u32 block) const noexcept {
        __builtin_prefetch(&bin, 1);
        __builtin_prefetch(&taken[block / 64], 1);
        __builtin_prefetch(&released[block / 64], 1);
    }

    /// Called before its first use.
    void know() noexcept {
        if (known) return;
        known = true;
        for (u32 w = 0; w < word_count(); ++w) {
            taken[w] = words[w].load(std::memory_order_acquire);
            const u32 here = std::min<u32>(64, blocks - 64 * w);
            if (here < 64) taken[w] |= ~u64{0} << here;
            free += static_cast<u32>(64 - std::popcount(taken[w]));
        }
    }

    /// Takes a free block; requires free > 0.
    [[nodiscard]] u32 take() noexcept {
        while (taken[first_word] == ~u64{0}) ++first_word;
        const auto bit = static_cast<u32>(std::countr_one(taken[first_word]));
        taken[first_word] |= u64{1} << bit;
        --free;
        return 64 * first_word + bit;
    }

    /// Offset of the block that take() would return next; nullopt: it would have to search.
    [[nodiscard]] std::optional<u64> next_block() const noexcept {
        const u64 here = taken[first_word];
        if (free == 0 || here == ~u64{0}) return std::nullopt;
        return block_at(64 * first_word + static_cast<u32>(std::countr_one(here)));
    }

    void give_back(u32 block) noexcept {
        const u64 bit = u64{1} << (block % 64);
        taken[block / 64] &= ~bit;
        released[block / 64] &= ~bit;
        first_word = std::min(first_word, block / 64);
        ++free;
    }

    /// Marks an owned block as being freed by a batch. False: not owned, or being freed already.
    [[nodiscard]] bool release(u32 block) noexcept {
        const u64 bit = u64{1} << (block % 64);
        const u64 owned = words[block / 64].load(std::memory_order_acquire);
        if ((owned & bit) == 0 || (released[block / 64] & bit) != 0) return false;
        released[block / 64] |= bit;
        return true;
    }
    void keep(u32 block) noexcept { released[block / 64] &= ~(u64{1} << (block % 64)); }
};

}  // namespace hf::committed
