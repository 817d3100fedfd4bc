// paging/private_pages.hpp: memory that is the process's own, and giving it back (medium `file`).
//
// Purpose. The region is mapped copy-on-write: a page that was stored to is a private copy, which
//  the kernel can only swap. Once the base file has everything that is in the page, the copy can be
//  dropped, and the next access finds the same bytes in the page cache, which the kernel drops as
//  it needs. So a region may be larger than the memory.
//
// Invariants.
//  M1 A page is dropped only when the base has all of it: no line of it was captured in an epoch
//     behind the applied one, and it is not held by somebody who stores outside of operations. The
//     header, which is written so, stays.
//  M2 Pages are dropped with the world stopped and everything dirty captured, so no line is dirty
//     and not captured. Stores that are never written back (a lock taken and given back) go with
//     the page, as they would in a crash that took nothing else: nothing may depend on them.
//  M3 What was captured before the tracking began counts as captured in the epoch when it began.
//  M4 Memory with huge pages (huge_memory.hpp) is mapped from the file again by the same rules,
//     some MiB at a time; what may not go is copied.
// Budget. Tracking begins when the region is larger than three quarters of the budget; when the
//  private pages are, the journal is asked to apply what it has; beyond it, writers wait
//  (epoch_manager::slow_writer). What an epoch may dirty is bounded by it, too
//  (region::set_dirty_limit).
// Concurrency. captured() by the threads at the boundary; drop() by its leader; find_droppable() by
//  the thread that applies; hold() by anybody.
// Where the kernel does not show which pages are copies, or does not take them back, nothing is
//  tracked: memory stays the process's own, and nobody waits for it.
// Cost. Eight bytes of address space for each page of the window, paid for as it is touched.
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

    /// For [base, base + max_bytes), mapped from the file `fd`. budget: bytes of private memory, 0:
    /// half of what the machine, or the control group, has. Aborts when not even address space can
    /// be had.
    private_pages(std::byte* base, u64 max_bytes, int fd, u64 budget);
    private_pages(const private_pages&) = delete;
    private_pages& operator=(const private_pages&) = delete;
    ~private_pages();

    /// Maps the end of a region that has just grown from `from` to `to`, in huge pages. False: it
    /// is to be mapped from the file, be it because the region is too large for its memory.
    [[nodiscard]] bool map_growth(u64 from, u64 to) noexcept {
        return !is_tracking() && to <= comfortable() && huge_.map_zeros(from, to);
    }
    [[nodiscard]] const huge_memory& huge() const noexcept { return huge_; }

    /// At the boundary of `epoch`, before its lines are captured: tracking begins if the region has
    /// outgrown the budget.
    void begin_if_needed(u64 region_bytes, u64 epoch) noexcept;
    [[nodiscard]] bool is_tracking() const noexcept {
        return since_.load(std::memory_order_acquire) != 0;
    }
    /// These lines were captured in `epoch`.
    void captured(std::span<const u64> lines, u64 epoch) noexcept;

    /// Looks for private pages among the region's first `region_bytes` of which the base, which has
    /// all up to `applied_epoch`, has everything. Reads the kernel's page table: 8 bytes a page.
    void find_droppable(u64 region_bytes, u64 applied_epoch);
    /// Drops what was found, and still is droppable. The world is stopped.
    void drop() noexcept;

    [[nodiscard]] u64 budget() const noexcept { return budget_; }
    /// Bytes of private copies, roughly: those known to be captured, and those seen by the last
    /// look.
    [[nodiscard]] u64 bytes() const noexcept {
        return is_tracking() ? count_.load() * page_bytes : 0;  // a look may end after giving up
    }
    [[nodiscard]] u64 dropped_bytes() const noexcept { return dropped_.load() * page_bytes; }
    [[nodiscard]] bool wants_room() const noexcept { return bytes() > comfortable(); }
    [[nodiscard]] bool is_over_budget() const noexcept { return bytes() > budget_; }
    [[nodiscard]] bool is_far_over_budget() const noexcept {
        return bytes() > budget_ + budget_ / 8;
    }

    /// While it lives, no page of [p, p + n) is dropped. For those who store outside of operations:
    /// to be made inside of the one before, and ended inside of the one behind, which no boundary
    /// that missed the stores can follow.
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
    std::atomic<u64>* ages_;  ///< of each page: the last epoch in which a line of it was captured
    page_table page_table_;
    bool gave_up_ = false;       ///< the kernel shows no pages, or does not take them back
    std::atomic<u64> since_{0};  ///< the epoch in which tracking began; 0: it has not
    std::atomic<u64> count_{0};
    std::atomic<u64> dropped_{0};

    mutable std::mutex mutex_;  // found_, applied_, holds_
    std::vector<u64> found_;
    u64 applied_ = 0;
    std::vector<const hold*> holds_;
};

/// Half of the memory that this process may use: of the machine's, or of its control group's.
[[nodiscard]] u64 default_memory_budget();
/// What the control groups allow that a file like /proc/self/cgroup names, in either version of
/// them (cgroups(7)), mounted below `root`; all bits set: anything.
[[nodiscard]] u64 group_memory_limit(const std::string& groups, const std::string& root);

}  // namespace hf
