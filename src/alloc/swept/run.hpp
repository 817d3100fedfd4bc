// alloc/swept/run.hpp: the volatile state of a slab or an extent.
#pragma once

#include "alloc/swept/layout.hpp"

#include <atomic>

namespace hf::swept {

struct run {
    run(u64 where, u64 page_count, u64 word_offset, u32 c, bool from_before) noexcept
        : offset(where),
          descriptor(word_offset),
          pages(page_count),
          size_class(c),
          block(c == extent_class ? 0 : block_size(c)),
          blocks(c == extent_class ? 1 : slab_blocks(c)),
          old(from_before) {}

    const u64 offset;
    const u64 descriptor;  ///< offset of its word
    const u64 pages;
    const u32 size_class;  ///< extent_class: an extent
    const u32 block;       ///< bytes of a block; 0: an extent
    const u32 blocks;
    /// Allocated in an earlier session and not swept yet: its free blocks are unknown.
    std::atomic<bool> old;
    u32 found_free = 0;  ///< blocks, while empty slabs are looked for; the heap's mutex guards it
    /// For old runs only: a bit for each reachable block. The heap owns the words.
    std::atomic<u64>* marks = nullptr;

    [[nodiscard]] bool is_extent() const noexcept { return block == 0; }
    [[nodiscard]] u32 mark_words() const noexcept { return (blocks + 63) / 64; }
    /// True if a block, or the extent, begins there.
    [[nodiscard]] bool begins_at(u64 where) const noexcept {
        const u64 distance = where - offset;
        if (is_extent()) return distance == 0;
        return distance % block == 0 && distance / block < blocks;
    }
    [[nodiscard]] u32 number_of(u64 where) const noexcept {
        return is_extent() ? 0 : static_cast<u32>(where - offset) / block;
    }
    [[nodiscard]] u64 block_at(u32 number) const noexcept { return offset + u64{number} * block; }

    /// Returns false if it was marked before.
    bool mark(u32 number) noexcept {
        std::atomic<u64>& w = marks[number / 64];
        const u64 bit = u64{1} << (number % 64);
        if ((w.load(std::memory_order_relaxed) & bit) != 0) return false;
        return (w.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
    }
    void unmark(u32 number) noexcept {
        marks[number / 64].fetch_and(~(u64{1} << (number % 64)), std::memory_order_relaxed);
    }
    [[nodiscard]] bool is_marked(u32 number) const noexcept {
        return (marks[number / 64].load(std::memory_order_relaxed) >> (number % 64) & 1) != 0;
    }
};

}  // namespace hf::swept
