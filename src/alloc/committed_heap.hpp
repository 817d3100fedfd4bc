// committed_heap.hpp: the committed policy: what a transaction takes and frees becomes durable with
// its commit record, and with nothing else.
//
// Purpose. Memory for disciplines that have a log and a commit record of their own (transactions,
// sections). The heap neither logs, flushes nor fences on a transaction's way: it says which words
// of its own the log must hold, and changes them once the log's owner has committed.
//
//   heap_batch b(heap);               the log's owner                          durable
//   b.reserve(size) ...               fills the blocks                         nothing
//   b.release(offset, size) ...                                                nothing
//   b.changes()                  ──>  log := changes, and what else there is
//                                     flush blocks and log; fence
//                                     commit record; flush; fence              all of it (C1)
//   b.apply()                         words change in memory
//   b.write_back()                    their lines are flushed; fence           the words, too (C2)
//                                     the log's entry goes; flush; fence
//   b.settle()                        what was freed can be taken (C3)
//   or, before the commit record: b.cancel()                                   nothing, ever
//
// On the medium: committed/layout.hpp. A slab is a page word and a bit for each block; an extent is
// a page word; free is 0. So nothing of what is free is linked, and no two batches change the same
// bit unless one follows the other.
//
// Invariants.
//  M1  A block or run of pages is owned, or reserved by one batch, or free, or being freed by one
//      batch; in every durable state it is owned or free.
//  M2  What is reserved is durably free: nothing on the medium changes before C1. A crash leaks
//      nothing.
//  M3  A word change is idempotent, and touches only bits of what its batch took or freed, and the
//      word of a slab, which every batch that needs it sets to the same value.
//  M4  What a batch freed, and what it reserved and gave up again, is handed out after its settle()
//      only: until then its log entry may be applied once more, and its bytes are those of a
//      transaction that may not have happened.
//  M5  Where nothing begins a page's word is 0, and bits are 0 outside of slabs.
//
// Persist order, for the log's owner.
//  C1  The entry with changes(), and the bytes of what was reserved, are durable before the commit
//      record is; the record before apply().
//  C2  The lines of the words (write_back(), or the owner's own flush of changes()) are durable
//      before the entry goes. They may be written back as late as that: by whom, and when, is the
//      owner's business.
//  C3  The entry is gone, durably, before settle().
//  Entries that change one word are applied by recovery in the order in which they committed, and
//  go in this order. Who settles a batch before others see its objects has that for nothing.
//
// Recovery (R1). The log's owner calls committed::reapply() with the changes of each committed
// entry, fences, drops the entries, and then opens the heap. Cut short, it does so again. Opening
// looks at one line of each segment. Segments and slabs are indexed when somebody needs one.
//
// Concurrency. A batch belongs to one thread; batches run beside each other. Blocks come from bins,
// one for each shard of threads and size class, each with a spin lock of its own; a slab that has
// blocks free belongs to one bin. Pages, extents and new slabs take the heap's mutex.
//
// Full region. reserve() tries everything that is free, then grows the region (a growth is durable
// by itself, and is an empty segment if nothing comes of it), then returns the error; nothing has
// changed. A damaged word is errc::corrupt at the first use of its segment.
//
// Limits. Slabs are not given back to the pages. On the media, sizes: a block is whole, without a
// header of the heap's; it begins at a multiple of 16 bytes, of 64 where its size is one.
//
// Literature. Coburn et al., "NV-Heaps", ASPLOS 2011, section 3 (allocation with a transaction's
// log; volatile lists are rebuilt); Chakrabarti et al., "Atlas", OOPSLA 2014 (a log that sections
// share); Bhandari et al., "Makalu", OOPSLA 2016 (what of an allocator has to be durable).
#pragma once

#include "alloc/committed/page_space.hpp"
#include "alloc/committed/word_change.hpp"
#include "sync/spin_lock.hpp"

#include <memory>
#include <span>
#include <vector>

namespace hf {

class committed_heap {
   public:
    static constexpr u32 shards = 16;

    explicit committed_heap(region& r);
    committed_heap(const committed_heap&) = delete;
    committed_heap& operator=(const committed_heap&) = delete;

    /// Takes the region's heap segments; a region without one is an empty heap. Behind reapply().
    [[nodiscard]] result<void> open() { return space_.open(); }

    [[nodiscard]] region& store() noexcept { return region_; }
    /// Of the calling thread.
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
    void move(committed::slab& s, u32 to);
    void list(bin& b, committed::slab& s);
    void unlist(bin& b, committed::slab& s);
    [[nodiscard]] bin& lock_bin_of(const committed::slab& s) noexcept;

    [[nodiscard]] bool release_block(const block& b);
    void keep_block(const block& b);
    void free_block(const block& b);

    region& region_;
    committed::page_space space_;
    std::unique_ptr<bin[]> bins_;  ///< by shard, then class
};

/// What one transaction takes and frees. One thread's; ends before its heap.
class heap_batch {
   public:
    explicit heap_batch(committed_heap& h, u32 shard = committed_heap::my_shard())
        : heap_(h), shard_(shard % committed_heap::shards) {}
    /// Cancels, unless changes() have been asked for: then a log may hold them, and the next
    /// opening finds out.
    ~heap_batch();
    heap_batch(const heap_batch&) = delete;
    heap_batch& operator=(const heap_batch&) = delete;

    /// Keeps `size` bytes from others; durably they stay free. The error: a region that can't grow.
    [[nodiscard]] result<u64> reserve(u64 size);
    /// To be freed with the commit; `size` as at its reserve(). What this batch has reserved may be
    /// given up so, too: then there is no trace of it.
    /// REQUIRES: it is such a block, not freed yet; otherwise the process ends.
    void release(u64 offset, u64 size);
    /// The same for an offset and a size that were read from the medium: gives the reason why it is
    /// no such block, and changes nothing then; nullptr: it is to be freed.
    [[nodiscard]] const char* try_release(u64 offset, u64 size);

    /// What the log must hold; one change a word, by ascending offset. Nothing is reserved or
    /// released any more.
    [[nodiscard]] std::span<const committed::word_change> changes();
    /// Behind the commit record.
    void apply();
    /// Flushes the lines of the words, without a fence.
    void write_back() const;
    /// Takes over what `applied` still has to settle, and empties it: for logs whose entries go
    /// together. This batch has been applied, too, or is empty, and is settled next.
    void join(heap_batch& applied);
    /// The log's entry is gone. The batch is empty again.
    void settle();
    /// No commit record will be. The batch is empty again. No log may be applied later that writes
    /// to what was reserved.
    void cancel();

   private:
    enum class state : u8 { open, logged, applied };
    enum class fate : u8 { reserved, freed, given_up };
    struct item {
        u64 offset;
        committed_heap::block of;  ///< of.of is null: an extent
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
