// leaf_hints.hpp: where a key's leaf and record were when the key was last looked for.
//
// Purpose. The way down a large tree is a chain of loads, each of which waits for the one before it
// and misses caches and translation caches alike; the record is one more. A table in ordinary
// memory remembers, for the first slice of a key, both the leaf and the record, so that they are
// fetched side by side. A hint that is right saves the way down; one that is wrong costs a look
// into a leaf. Hints are lost with the process and change nothing on the medium.
//
// What a hint may be trusted in.
//  H1 The leaf of a hint that find() returns is a leaf of layer 0, or the root that was one. Its
//     memory is not reused until the calling operation ends; but it may not have the key, and may
//     be deleted or an interior node by then, as its version says.
//  H2 So a key that is found there, by the rules for any reader (version.hpp), is in the tree. One
//     that is not may be elsewhere, and is looked for from the root.
//  H3 The record of a hint is fetched into the cache and never read: it may be anything by now.
//
// Why H1 holds. A leaf's memory is reused in a later epoch than that of its unlinking
// (masstree.hpp, M4). Leaves share counters by their offset, and a hint carries the count of its
// leaf's.
//  H4 The count that note() is given was taken before its caller made sure that the leaf is not
//     deleted: by holding its lock or, of a leaf that is new, its parent's, or by a look at its
//     version. So it is from before an unlinking.
//  H5 retire() increases the count after the leaf was marked as deleted, and before the operation
//     that did so ends. Operations of later epochs find it increased, and the hint void; for those
//     of the same epoch the memory is still the leaf's.
//  H6 A count that has reached its end stays there, and no hint carries it.
// Layer 0 only: a leaf does not say which layer it is in, and in another one the same slice belongs
// to another key.
//
// Shape. Buckets of one cache line, with five hints each, which give way in turn. A region that has
// grown gets more buckets (cover()); hints that then are in the wrong one are forgotten.
// Concurrency. A hint's leaf, count and tag are one word, valid by itself; threads overwrite one
// another's. The record beside it may be of another hint (H3).
// Memory. One bucket for each KiB of the region, rounded up to a power of two, and paid for as it
// is touched.
#pragma once

#include "base/bits.hpp"
#include "index/masstree/node.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace hf::masstree_detail {

class leaf_hints {
   public:
    /// With buckets of at most `budget` bytes of memory, or 4 KiB. nullptr: not even address space
    /// can be had.
    [[nodiscard]] static std::unique_ptr<leaf_hints> make(u64 budget);
    ~leaf_hints();
    leaf_hints(const leaf_hints&) = delete;
    leaf_hints& operator=(const leaf_hints&) = delete;

    /// As many buckets as a region of `bytes` deserves, which take a sixteenth to an eighth of its
    /// size, within the budget. Never fewer than before.
    void cover(u64 bytes) noexcept;
    [[nodiscard]] u64 buckets() const noexcept { return mask_.load(std::memory_order_relaxed) + 1; }
    /// Of the buckets in use, each of them a line.
    [[nodiscard]] u64 bytes() const noexcept { return buckets() * line_size; }

    /// Starts loading what find() will read.
    void prefetch(u64 slice) const noexcept { __builtin_prefetch(&bucket_of(hash(slice)), 1); }

    /// Offsets; leaf 0: none is known.
    struct hint {
        u64 leaf = 0;
        u64 record_line = 0;  ///< to be fetched and no more (H3)
    };
    /// Inside of an operation. Which of the hints it is decides no jump: nobody can foretell it,
    /// and a processor that has guessed wrong has nothing else to do meanwhile.
    [[nodiscard]] hint find(u64 slice) const noexcept {
        const u64 h = hash(slice);
        const bucket& b = bucket_of(h);
        unsigned place = ways;
#pragma GCC unroll 8
        for (unsigned i = ways; i-- > 0;) {
            const u64 differs = b.packed[i].load(std::memory_order_relaxed) ^ h;
            place = tag_of(differs) == 0 ? i : place;
        }
        if (place == ways) return {};
        // It may be another slice's by now, which is no worse than a hint that is wrong.
        const u64 packed = b.packed[place].load(std::memory_order_acquire);
        const u64 leaf = leaf_of(packed);
        if (packed >> leaf_shift == 0 || counted(packed) != count(leaf)) return {};
        return {leaf, u64{b.records[place].load(std::memory_order_relaxed)} * unit};
    }

    /// What note() wants to be told (H4).
    [[nodiscard]] u32 count(u64 leaf) const noexcept {
        return counts_[(leaf / unit) % counters].load(std::memory_order_acquire);
    }

    /// The slice was found in the leaf, and led to this record.
    void note(u64 slice, u64 leaf, u32 count, u64 record) noexcept;

    /// The leaf is marked as deleted, and will be given back by this operation (H5).
    void retire(u64 leaf) noexcept;

   private:
    // Packed: | line of the leaf's block: 32 | count 20 | tag 12 |. The region's header lies in
    // line 0.
    static constexpr u64 unit = line_size;
    static constexpr u64 within_line = node_block - node_payload;  ///< a leaf's offset in its line
    static constexpr u64 most_units = u64{1} << 32;
    static constexpr unsigned leaf_shift = 32;
    static constexpr unsigned count_shift = 12;
    static constexpr u32 last_count = (u32{1} << 20) - 1;
    static constexpr u64 bytes_per_bucket = 1024;
    static constexpr u64 fewest_buckets = 64;
    static constexpr u64 counters = u64{1} << 14;
    static constexpr unsigned ways = 5;

    struct alignas(line_size) bucket {
        std::array<std::atomic<u64>, ways> packed;
        std::array<std::atomic<u32>, ways> records;  ///< the lines that they begin in
        std::atomic<u32> turn;                       ///< who gives way next
    };
    static_assert(sizeof(bucket) == line_size);

    leaf_hints(bucket* buckets, u64 reserved);

    /// Its lowest bits are the tag, those above the bucket.
    [[nodiscard]] static u64 hash(u64 slice) noexcept {
        const auto wide =
            static_cast<unsigned __int128>(slice ^ 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
        return static_cast<u64>(wide) ^ static_cast<u64>(wide >> 64);
    }
    [[nodiscard]] static u64 tag_of(u64 packed) noexcept {
        return packed & ((u64{1} << count_shift) - 1);
    }
    [[nodiscard]] static u64 leaf_of(u64 packed) noexcept {
        return (packed >> leaf_shift) * unit + within_line;
    }
    [[nodiscard]] static u32 counted(u64 packed) noexcept {
        return static_cast<u32>(packed >> count_shift) & last_count;
    }
    [[nodiscard]] bucket& bucket_of(u64 h) const noexcept {
        return buckets_[(h >> count_shift) & mask_.load(std::memory_order_relaxed)];
    }

    bucket* buckets_;
    u64 reserved_;
    std::atomic<u64> mask_{0};
    std::unique_ptr<std::atomic<u32>[]> counts_;
};

}  // namespace hf::masstree_detail
