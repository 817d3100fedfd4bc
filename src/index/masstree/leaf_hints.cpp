#include "index/masstree/leaf_hints.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace hf::masstree_detail {

std::unique_ptr<leaf_hints> leaf_hints::make(u64 budget) {
    const u64 reserved = std::max(std::bit_floor(budget / sizeof(bucket)), fewest_buckets);
    void* p = ::mmap(nullptr, reserved * sizeof(bucket), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    // fails on a kernel without huge pages, which is harmless
    ::madvise(p, reserved * sizeof(bucket), MADV_HUGEPAGE);
    return std::unique_ptr<leaf_hints>(new leaf_hints(static_cast<bucket*>(p), reserved));
}

leaf_hints::leaf_hints(bucket* buckets, u64 reserved)
    : buckets_(buckets),
      reserved_(reserved),
      counts_(std::make_unique<std::atomic<u32>[]>(counters)) {
    cover(0);
}

leaf_hints::~leaf_hints() { ::munmap(buckets_, reserved_ * sizeof(bucket)); }

void leaf_hints::cover(u64 bytes) noexcept {
    const u64 wanted = std::bit_ceil(std::max(bytes / bytes_per_bucket, fewest_buckets));
    const u64 mask = std::min(wanted, reserved_) - 1;
    u64 seen = mask_.load(std::memory_order_relaxed);
    while (seen < mask && !mask_.compare_exchange_weak(seen, mask, std::memory_order_relaxed)) {
    }
}

void leaf_hints::note(u64 slice, u64 leaf, u32 count, u64 record) noexcept {
    if (count == last_count || leaf / unit >= most_units) [[unlikely]] {
        return;
    }
    const u64 h = hash(slice);
    const u64 packed = (leaf / unit) << leaf_shift | u64{count} << count_shift | tag_of(h);
    const auto at = static_cast<u32>(record / unit);
    bucket& b = bucket_of(h);
    unsigned place = ways;
    for (unsigned i = 0; i < ways; ++i) {
        const u64 seen = b.packed[i].load(std::memory_order_relaxed);
        if (tag_of(seen) == tag_of(h)) {
            place = i;
            break;
        }
        if (seen == 0 && place == ways) place = i;
    }
    if (place == ways) {
        const u32 turn = b.turn.load(std::memory_order_relaxed);
        b.turn.store(turn + 1, std::memory_order_relaxed);
        place = turn % ways;
    }
    if (b.packed[place].load(std::memory_order_relaxed) != packed) {
        b.packed[place].store(packed, std::memory_order_release);
    }
    if (b.records[place].load(std::memory_order_relaxed) != at) {
        b.records[place].store(at, std::memory_order_relaxed);
    }
}

void leaf_hints::retire(u64 leaf) noexcept {
    std::atomic<u32>& count = counts_[(leaf / unit) % counters];
    u32 seen = count.load(std::memory_order_relaxed);
    while (seen != last_count &&
           !count.compare_exchange_weak(seen, seen + 1, std::memory_order_release)) {
    }
}

}  // namespace hf::masstree_detail
