// committed_heap.hpp: the committed policy: a transaction's allocations and releases become durable
// with its commit record.
//
// Purpose. Memory for disciplines with a log and a commit record of their own (transactions,
// sections). The heap itself neither logs, flushes nor fences for a transaction: it returns the
// changes of its words that the log must contain, and applies them after the log's owner has
// committed.
//
//   heap_batch b(heap);               the log's owner                          durable
//   b.reserve(size) ...               fills the blocks                         nothing
//   b.release(offset, size) ...                                                nothing
//   b.changes()                  ──>  log := changes, and other data
//                                     flush blocks and log; fence
//                                     commit record; flush; fence              all of it (C1)
//   b.apply()                         words change in memory
//   b.write_back()                    their lines are flushed; fence           the words, too (C2)
//                                     the log entry is removed; flush; fence
//   b.settle()                        freed blocks can be allocated (C3)
//   or, before the commit record: b.cancel()                                   nothing, ever
//
// On the medium: committed/layout.hpp. A slab is a page word and a bit for each block; an extent is
// a page word; free is 0. So free space has no links, and two batches change the same
// bit only one after the other.
//
// Invariants.
//  M1  A block or run of pages is owned, or reserved by one batch, or free, or being freed by one
//      batch; in every durable state it is owned or free.
//  M2  Reserved space is durably free: nothing on the medium changes before C1. A crash leaks
//      nothing.
//  M3  A word change is idempotent, and touches only bits of blocks that its batch allocated or
//      freed, and the word of a slab, which every batch that needs it sets to the same value.
//  M4  Space that a batch freed, or reserved and gave up again, is allocated only after its
//      settle(): until then recovery may apply its log entry again, and its bytes are those of a
//      transaction that may not have happened.
//  M5  A page's word is 0 if nothing begins there, and bits are 0 outside of slabs.
//  M6  A slab without owned, reserved or released blocks is in no log: the entries that changed it
//      were removed before its last block became free (M4, C3). So its word may become 0.
//
// Persist order, for the log's owner.
//  C1  The entry with changes(), and the contents of reserved blocks, are durable before the commit
//      record is; the record before apply().
//  C2  The lines of the words (write_back(), or the owner's own flush of changes()) are durable
//      before the entry is removed. The owner decides who writes them back, and when, up to that
//      time.
//  C3  The entry is removed, durably, before settle().
//  C4  The words of empty slabs are durably 0 before their pages are handed out. The heap does this
//      itself, in free_empty_slabs(). A crash leaves either an empty slab or free pages.
//  C5  After a kill the page words of a segment are durable, as they were found, before pages of it
//      are taken: a zero of C4 may be in the caches only. Otherwise the slab would be there again
//      after a power cut, and could overlap what was made of its pages.
//  Entries that change one word are applied by recovery in the order in which they committed, and
//  must be removed in this order. An owner that settles a batch before other threads see its
//  objects ensures this automatically.
//
// Recovery (R1). The log's owner calls committed::reapply() with the changes of each committed
// entry, fences, removes the entries, and then opens the heap. After an interruption it does so
// again. Opening reads one line of each segment. Segments and slabs are indexed when needed.
//
// Concurrency. A batch belongs to one thread; batches run concurrently. Blocks are taken from bins,
// one for each shard of threads and size class, each with its own spin lock; a slab with free
// blocks belongs to one bin. Pages, extents and new slabs take the heap's mutex.
//
// Full region. reserve() tries everything that is free; then slabs that have run empty become free
// pages; then it grows the region (a growth is durable by itself, and leaves an empty segment if it
// remains unused), or returns the error; nothing has changed. A damaged word is errc::corrupt at
// the first use of its segment.
//
// Limits. A block has no header of the heap's own; it begins at a multiple of 16 bytes, of 64 if
// its size is a multiple of 64.
//
// Literature. Coburn et al., "NV-Heaps", ASPLOS 2011, section 3 (allocation with a transaction's
// log; volatile lists are rebuilt); Chakrabarti et al., "Atlas", OOPSLA 2014 (a log shared by
// sections); Bhandari et al., "Makalu", OOPSLA 2016 (which allocator state must be durable).
#pragma once

#include "alloc/committed/page_space.hpp"
#include "alloc/committed/word_change.hpp"
#include "sync/spin_lock.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace hf {

class committed_heap {
   public:
    static constexpr u32 shards = 16;

    explicit committed_heap(region& r);
    committed_heap(const committed_heap&) = delete;
    committed_heap& operator=(const committed_heap&) = delete;

    /// Finds the region's heap segments; a region without one is an empty heap. After reapply().
    [[nodiscard]] result<void> open() { return space_.open(); }

    [[nodiscard]] region& store() noexcept { return region_; }
    /// The shard of the calling thread.
    [[nodiscard]] static u32 my_shard() noexcept;

   private:
    friend class heap_batch;

    struct alignas(line_size) bin {
        spin_lock lock;
        std::vector<committed::slab*> with_room;
    };
    struct block {
        committed::slab* of = nullptr;
        u32 number = 0;
    };

    [[nodiscard]] result<block> take_block(u32 shard, u32 size_class);
    [[nodiscard]] result<u64> take_extent(u64 pages);
    [[nodiscard]] block take_from(bin& b);
    [[nodiscard]] result<bool> find_room(u32 to);
    [[nodiscard]] bool take_over(u32 to, u32 least_free);
    /// Turns slabs that have run empty into free pages (M6, C4). False: there are none. Waits while
    /// another thread does it.
    [[nodiscard]] bool free_empty_slabs();
    void drop_all(const std::vector<committed::slab*>& empty);
    [[nodiscard]] static bool is_empty(const committed::slab& s) noexcept {
        return s.known && s.free == s.blocks && s.movers == 0 &&
               s.durable.load(std::memory_order_relaxed) == committed::slab::stage::settled;
    }
    void move(committed::slab& s, u32 to);
    void list(bin& b, committed::slab& s);
    void unlist(bin& b, committed::slab& s);
    [[nodiscard]] bin& lock_bin_of(const committed::slab& s) noexcept;

    [[nodiscard]] bool release_block(const block& b);
    void keep_block(const block& b);
    void free_block(const block& b);

    region& region_;
    committed::page_space space_;
    std::unique_ptr<bin[]> bins_;          ///< by shard, then class
    std::atomic<bool> some_empty_{false};  ///< some slab may have run empty
    std::mutex emptying_;                  ///< one thread at a time frees empty slabs
    std::atomic<u64> emptied_{0};          ///< how often slabs were freed
};

/// The allocations and releases of one transaction. For one thread; destroyed before its heap.
class heap_batch {
   public:
    explicit heap_batch(committed_heap& h, u32 shard = committed_heap::my_shard())
        : heap_(h), shard_(shard % committed_heap::shards) {}
    /// Cancels, unless changes() was called: then a log may contain them, and the next recovery
    /// decides.
    ~heap_batch();
    heap_batch(const heap_batch&) = delete;
    heap_batch& operator=(const heap_batch&) = delete;

    /// Reserves `size` bytes for this batch. On the medium they stay free until the commit. Fails
    /// if the region cannot grow.
    [[nodiscard]] result<u64> reserve(u64 size);
    /// Frees a block at the commit; `size` as at its reserve(). A block reserved by this batch may
    /// also be given up in this way; then it leaves no trace.
    /// REQUIRES: it is such a block, not freed yet; otherwise the process ends.
    void release(u64 offset, u64 size);
    /// As release(), but for an offset and a size that were read from the medium. If they are no
    /// such block it changes nothing and returns the reason; nullptr: success.
    [[nodiscard]] const char* try_release(u64 offset, u64 size);

    /// The changes that the log must contain; one a word, by ascending offset. Do not reserve or
    /// release anything afterwards.
    [[nodiscard]] std::span<const committed::word_change> changes();
    /// Applies the changes to the heap's words. Call it after the commit record is durable.
    void apply();
    /// Flushes the lines of the words, without a fence.
    void write_back() const;
    /// Takes over the blocks that `applied` has still to settle, and empties it: for logs whose
    /// entries are removed together. This batch must be applied, or empty, and is settled next.
    void join(heap_batch& applied);
    /// The log entry has been removed. Makes freed blocks allocatable; the batch is empty again.
    void settle();
    /// There will be no commit record. The batch is empty again. No log may be applied later that
    /// writes to the reserved blocks.
    void cancel();

   private:
    enum class state : u8 { open, logged, applied };
    enum class fate : u8 { reserved, freed, given_up };
    struct item {
        u64 offset;
        committed_heap::block of;  ///< of.of is null for an extent
        u64 pages;
        fate what;
    };

    [[nodiscard]] bool release_new(u64 offset, const item& added);
    void add_changes(const item& i);
    void clear() noexcept;
    void give_back(const item& i);

    committed_heap& heap_;
    u32 shard_;
    state state_ = state::open;
    std::vector<item> items_;
    std::vector<committed::word_change> changes_;
};

}  // namespace hf
