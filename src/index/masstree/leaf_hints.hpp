// leaf_hints.hpp: a volatile cache of the leaf and the record in which a key was last found.
//
// Purpose. The descent of a large tree is a chain of dependent loads that miss the caches and the
// TLB; the record is one more. A table in ordinary memory maps the first slice of a key to both the
// leaf and the record, so that they are fetched in parallel. A correct hint saves the descent; a
// wrong one costs a look into a leaf. Hints are lost with the process and change nothing on the
// medium.
//
// Guarantees of a hint.
//  H1 The leaf of a hint that find() returns is, or was, a leaf of layer 0 (or a root that was
//     one). Its memory is not reused until the calling operation ends. But it may not contain the
//     key, and it may be deleted or an interior node by then; its version tells.
//  H2 So a key that is found there, by the rules for any reader (version.hpp), is in the tree. A
//     key that is not found there may be elsewhere, and is searched from the root.
//  H3 The record of a hint is only prefetched and never read: its memory may contain anything by
//     now.
//
// Why H1 holds. A leaf's memory is reused only in a later epoch than that of its unlinking
// (masstree.hpp, M4). Leaves share counters by their offset, and a hint contains the count of its
// leaf's counter.
//  H4 The count passed to note() was read before its caller made sure that the leaf is not deleted:
//     by holding its lock (for a new leaf, its parent's), or by validating its version. So the
//     count is from before an unlinking.
//  H5 retire() increments the count after the leaf was marked as deleted, and before the operation
//     that did so ends. Operations of later epochs read the incremented count and ignore the hint;
//     for those of the same epoch the memory is still the leaf's.
//  H6 A count that has reached its maximum remains there, and no hint contains it.
// Layer 0 only: a leaf does not record its layer, and in another layer the same slice belongs to
// another key.
//
// Structure. Buckets of one cache line with five hints each, replaced round-robin. A larger region
// gets more buckets (cover()); hints that are then in a wrong bucket are lost.
// Concurrency. A hint's leaf, count and tag are one word, valid by itself; threads overwrite each
// other's hints. The record beside it may belong to another hint (H3).
// Memory. One bucket for each KiB of the region, rounded up to a power of two; pages are allocated
// when first touched.
#pragma once

#include "base/bits.hpp"
#include "index/masstree/node.hpp"

#include <array>
#include <atomic>
#include <memory>

namespace hf::masstree_detail {

class leaf_hints {
   public:
    /// Makes a table of at most `budget` bytes, or 4 KiB. nullptr: no address space.
    [[nodiscard]] static std::unique_ptr<leaf_hints> make(u64 budget);
    ~leaf_hints();
    leaf_hints(const leaf_hints&) = delete;
    leaf_hints& operator=(const leaf_hints&) = delete;

    /// Sets the number of buckets for a region of `bytes`: a sixteenth to an eighth of its size,
    /// within the budget. Never shrinks.
    void cover(u64 bytes) noexcept;
    [[nodiscard]] u64 buckets() const noexcept { return mask_.load(std::memory_order_relaxed) + 1; }
    /// Bytes of the buckets in use.
    [[nodiscard]] u64 bytes() const noexcept { return buckets() * line_size; }

    /// Prefetches the line that find() will read.
    void prefetch(u64 slice) const noexcept { __builtin_prefetch(&bucket_of(hash(slice)), 1); }

    /// Offsets; leaf 0: no hint.
    struct hint {
        u64 leaf = 0;
        u64 record_line = 0;  ///< only to be prefetched (H3)
    };
    /// Must be called within an operation. The matching way is selected without branches, because
    /// it is unpredictable and a misprediction would stall the following loads.
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
        // It may be another slice's by now, which is harmless like any wrong hint.
        const u64 packed = b.packed[place].load(std::memory_order_acquire);
        const u64 leaf = leaf_of(packed);
        if (packed >> leaf_shift == 0 || counted(packed) != count(leaf)) return {};
        return {leaf, u64{b.records[place].load(std::memory_order_relaxed)} * unit};
    }

    /// The count to pass to note() (H4).
    [[nodiscard]] u32 count(u64 leaf) const noexcept {
        return counts_[(leaf / unit) % counters].load(std::memory_order_acquire);
    }

    /// Stores a hint: the slice was found in the leaf, with this record.
    void note(u64 slice, u64 leaf, u32 count, u64 record) noexcept;

    /// Call after the leaf was marked as deleted, in the operation that will free it (H5).
    void retire(u64 leaf) noexcept;

   private:
    // Packed: | line of the leaf's block: 32 | count 20 | tag 12 |. Line 0 belongs to the region's
    // header, so 0 is no hint.
    static constexpr u64 unit = line_size;
    /// a leaf's offset in its first line
    static constexpr u64 within_line = node_block - node_payload;
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
        std::array<std::atomic<u32>, ways> records;  ///< the lines in which the records begin
        std::atomic<u32> turn;                       ///< the way to replace next
    };
    static_assert(sizeof(bucket) == line_size);

    leaf_hints(bucket* buckets, u64 reserved);

    /// The lowest bits are the tag, those above select the bucket.
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
