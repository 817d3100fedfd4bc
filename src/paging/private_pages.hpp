// paging/private_pages.hpp: tracks private copies of pages, and gives their memory back (medium
// `file`).
//
// Purpose. The region is mapped copy-on-write: a page that was stored to is a private copy, which
// the kernel can only swap. Once the base file contains everything in the page, the copy can be
// dropped; the next access reads the same bytes from the page cache, which the kernel evicts as
// needed. So a region may be larger than the memory.
//
// Invariants.
//  M1 A page is dropped only if the base contains all of it: no line of it was captured in an epoch
//     after the applied one, and it is not pinned by a thread that stores outside of operations.
//     The header, which is written that way, is never dropped.
//  M2 Pages are dropped with the world stopped and everything dirty captured, so every dirty line
//     is captured. Stores that are never written back (a lock that was taken and released) are lost
//     with the page, as in a crash that loses nothing else: no code may depend on them. Where a
//     program does, keep_all() is called: no page is dropped.
//  M3 Lines captured before the tracking began count as captured in the epoch when it began.
//  M4 Memory with huge pages (huge_memory.hpp) is mapped from the file again by the same rules,
//     some MiB at a time; pages that must be kept are copied.
// Budget. Tracking begins when the region is larger than three quarters of the budget. When the
// private pages exceed that, the journal has to apply its records; beyond the budget, writers
// wait (epoch_manager::slow_writer). The budget also bounds the dirty lines of an epoch
// (region::set_dirty_limit).
// Concurrency. captured() by the threads at the boundary; drop() by its leader; find_droppable() by
// the applying thread; hold() by any thread.
// If the kernel does not tell which pages are copies, or does not drop them, nothing is tracked:
// the copies stay, and no writer waits.
// Cost. Eight bytes of address space for each page of the window, allocated when touched.
#pragma once

#include "base/bits.hpp"
#include "paging/huge_memory.hpp"
#include "paging/page_table.hpp"

#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace hf {

class private_pages {
   public:
    static constexpr u64 page_bytes = small_page;

    /// For [base, base + max_bytes), mapped from the file `fd`. budget: bytes of private memory; 0:
    /// half of the memory of the machine or the control group. Aborts if there is no address space.
    private_pages(std::byte* base, u64 max_bytes, int fd, u64 budget);
    private_pages(const private_pages&) = delete;
    private_pages& operator=(const private_pages&) = delete;
    ~private_pages();

    /// No page is ever dropped, and no writer waits for memory. Before the first boundary.
    void keep_all() noexcept { give_up(); }
    /// Maps the end of a region that has just grown from `from` to `to`, with huge pages. False: it
    /// must be mapped from the file, for instance because the region is too large for its memory.
    [[nodiscard]] bool map_growth(u64 from, u64 to) noexcept {
        return !is_tracking() && to <= comfortable() && huge_.map_zeros(from, to);
    }
    [[nodiscard]] const huge_memory& huge() const noexcept { return huge_; }

    /// At the boundary of `epoch`, before its lines are captured: begins tracking if the region has
    /// outgrown the budget.
    void begin_if_needed(u64 region_bytes, u64 epoch) noexcept;
    [[nodiscard]] bool is_tracking() const noexcept {
        return since_.load(std::memory_order_acquire) != 0;
    }
    /// Call with the lines captured in `epoch`.
    void captured(std::span<const u64> lines, u64 epoch) noexcept;

    /// Finds private pages among the region's first `region_bytes` that the base contains
    /// completely; it contains all epochs up to `applied_epoch`. Reads the kernel's page table: 8
    /// bytes a page.
    void find_droppable(u64 region_bytes, u64 applied_epoch);
    /// Drops the pages found that are still droppable. The world is stopped.
    void drop() noexcept;

    [[nodiscard]] u64 budget() const noexcept { return budget_; }
    /// Approximate bytes of private copies: those known to be captured, and those counted last.
    [[nodiscard]] u64 bytes() const noexcept {
        // a count may complete after give_up()
        return is_tracking() ? count_.load() * page_bytes : 0;
    }
    [[nodiscard]] u64 dropped_bytes() const noexcept { return dropped_.load() * page_bytes; }
    [[nodiscard]] bool wants_room() const noexcept { return bytes() > comfortable(); }
    [[nodiscard]] bool is_over_budget() const noexcept { return bytes() > budget_; }
    [[nodiscard]] bool is_far_over_budget() const noexcept {
        return bytes() > budget_ + budget_ / 8;
    }

    /// Pins the pages of [p, p + n): they are not dropped while this exists. For threads that store
    /// outside of operations: create it within the operation before, and destroy it within the
    /// operation after the stores, so that every boundary after that has captured them.
    class hold {
       public:
        hold(private_pages* pages, const void* p, u64 n);
        hold(const hold&) = delete;
        hold& operator=(const hold&) = delete;
        ~hold();

       private:
        friend class private_pages;
        private_pages* pages_;
        u64 first_ = 0;  ///< pages
        u64 last_ = 0;
    };

   private:
    [[nodiscard]] u64 comfortable() const noexcept { return budget_ - budget_ / 4; }
    [[nodiscard]] bool is_droppable(u64 page, u64 applied) const noexcept;
    [[nodiscard]] bool is_held(u64 first, u64 last) const noexcept;
    void drop_huge() noexcept;
    void count_dropped(u64 pages) noexcept;
    void drop(std::span<const small_page_run> runs) noexcept;
    void give_up() noexcept;
    bool drop_at_once(std::span<const small_page_run> runs) const noexcept;

    std::byte* base_;
    huge_memory huge_;
    u64 pages_;
    u64 budget_;
    std::atomic<u64>* ages_;  ///< for each page: the last epoch in which a line of it was captured
    page_table page_table_;
    bool gave_up_ = false;       ///< the kernel does not show pages, or does not drop them
    std::atomic<u64> since_{0};  ///< the epoch in which tracking began; 0: not yet
    std::atomic<u64> count_{0};
    std::atomic<u64> dropped_{0};

    mutable std::mutex mutex_;  // guards found_, applied_, holds_
    std::vector<u64> found_;
    u64 applied_ = 0;
    std::vector<const hold*> holds_;
};

/// Half of the memory of the machine or of this process's control group, whichever is less.
[[nodiscard]] u64 default_memory_budget();
/// The memory limit of the control groups listed in `groups`, a file like /proc/self/cgroup
/// (version 1 or 2, cgroups(7)), mounted below `root`; all bits set: unlimited.
[[nodiscard]] u64 group_memory_limit(const std::string& groups, const std::string& root);

}  // namespace hf
