// section/heap/heap.hpp: memory of a group of regions.
//
// Purpose. malloc for regions of sections. Durable data (headers and bits, layout.hpp) lies in the
// group and is changed by `change`, as ordinary data of the caller's section. Data that only saves
// searches (the run of each page, lists of slabs with free blocks, lists of free runs) is in DRAM,
// is built by a walk over the runs when the group is opened, and lies in memory of its own: no
// malloc.
//
// Reuse. A freed block may be allocated again at once. Its bytes are undone with everything else by
// the log, or are private until the cut, so that the cut's version of the block comes back. A large
// block of pages that have been free since before the last cut needs no undo (first_touch.hpp,
// U-d): each free run knows the newest epoch in which a part of it became free.
//
// Concurrency. One lock, held for the metadata of one call; the block's own bytes are stored to
// outside of it. Callers are inside the gate. Lock order: gate, this lock, the region's growth.
//
// Bad use. Freeing an address that is no block, or is free, ends the process with a message that
// names it. A full region or disk: an error, and nothing has changed.
#pragma once

#include <holdfast/result.hpp>

#include "region/region.hpp"
#include "section/change.hpp"
#include "section/heap/layout.hpp"
#include "sync/spin_lock.hpp"

#include <atomic>
#include <functional>

namespace hf::section {

/// A block, free or not.
struct block_ref {
    run_header* run;
    u64 index;  ///< in its slab; 0 for a large one
    std::byte* begin;
    u64 bytes;  ///< that can be used
};

class heap {
   public:
    explicit heap(region& file);
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;
    ~heap();

    /// Walks the runs. errc::corrupt: they do not follow each other (H1).
    [[nodiscard]] result<void> open();
    /// From now on called after each growth, with the heap's lock held.
    void on_growth(std::function<void(std::byte* from, u64 bytes)> tell) {
        grown_ = std::move(tell);
    }

    [[nodiscard]] result<void*> allocate(change& by, u16 owner, u64 bytes);
    /// `alignment` is a power of two up to page_bytes.
    [[nodiscard]] result<void*> allocate_aligned(change& by, u16 owner, u64 bytes, u64 alignment);
    void free(change& by, void* p);
    /// Usable bytes of an allocated block.
    [[nodiscard]] u64 usable(const void* p) const;
    /// The region's number that the block belongs to.
    [[nodiscard]] u16 owner_of(const void* p) const;
    /// Frees every block of the region.
    void free_all(change& by, u16 owner);

    /// The allocated block that holds the address; run == nullptr: there is none.
    [[nodiscard]] block_ref find(const void* p) const noexcept;
    /// Visits all runs, free ones too. The callback must not change them.
    void walk(const std::function<void(run_header&)>& visit) const;
    /// By a walk over all runs.
    [[nodiscard]] u64 allocated_blocks() const;
    [[nodiscard]] u64 allocated_bytes() const noexcept {
        return allocated_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] static bool is_allocated(const run_header& slab, u64 block) noexcept {
        return (bits_of(slab)[block / 64] >> (block % 64) & 1U) != 0;
    }
    /// Number of the run's first page, counted from the window's start.
    [[nodiscard]] u64 page_of(const void* p) const noexcept {
        return (reinterpret_cast<u64>(p) & window_mask) / page_bytes;
    }

   private:
    /// Facts about the first page of a run; `start` is set for others, too (set_run()). Page 0 is
    /// the header's: 0 ends a list.
    struct page_info {
        u32 start;  ///< first page of the run that the page belongs to; 0: none or not told
        u32 pages;  ///< of the run
        u32 next;
        u32 previous;
        u32 free_blocks;  ///< of a slab
        u32 hint;         ///< the word of its bits to search first
        bool begins_segment;
        u64 freed;  ///< of a free run: the newest epoch in which a page of it became free; 0: none
    };
    static constexpr unsigned bins = 32;  ///< of free runs, by the logarithm of their pages

    [[nodiscard]] static const u64* bits_of(const run_header& slab) noexcept {
        return reinterpret_cast<const u64*>(&slab + 1);
    }
    [[nodiscard]] static u64* bits_of(run_header& slab) noexcept {
        return reinterpret_cast<u64*>(&slab + 1);
    }
    [[nodiscard]] run_header* run_at(u64 page) const noexcept {
        return reinterpret_cast<run_header*>(file_.base() + page * page_bytes);
    }
    result<void> adopt_segment(const segment& s);
    void adopt_run(u64 page, u64 pages);
    void set_run(u64 page, u64 pages, bool is_free) noexcept;
    void push(u32& list, u64 page) noexcept;
    void remove(u32& list, u64 page) noexcept;
    [[nodiscard]] u32& bin_of(u64 pages) noexcept;
    [[nodiscard]] u32& partial(u16 owner, unsigned c) noexcept {
        return partial_[u64{owner} * size_classes + c];
    }
    struct taken_run {
        u64 page;
        bool is_fresh;  ///< free since before the last cut
    };
    [[nodiscard]] result<taken_run> take_run(change& by, u64 pages);
    [[nodiscard]] u64 room() const;
    [[nodiscard]] result<void> grow(u64 pages);
    void write_free(change& by, u64 page, u64 pages, u64 freed);
    void give_run(change& by, u64 page);
    [[nodiscard]] result<u64> make_slab(change& by, u16 owner, unsigned c);
    [[nodiscard]] void* take_block(change& by, u64 page);
    void free_block(change& by, run_header& slab, u64 block);
    [[nodiscard]] result<void*> allocate_large(change& by, u16 owner, u64 bytes, u64 alignment);

    region& file_;
    page_info* pages_;
    std::array<u32, bins> free_{};
    std::array<u32, max_regions * size_classes> partial_{};
    u64 known_end_ = 0;  ///< first page past the segments that are known
    std::function<void(std::byte*, u64)> grown_;
    mutable spin_lock lock_;
    std::atomic<u64> allocated_{0};
};

}  // namespace hf::section
