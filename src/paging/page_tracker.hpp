// paging/page_tracker.hpp: which lines of a region changed, found without anybody naming them.
//
// Purpose. On the medium `file` a checkpoint must contain the lines that changed. Where the code
//  that changes them is not ours, or does not know lines, the tracker finds them at the boundary:
//  the kernel knows the pages that were stored to, and what differs from the base file on such a
//  page has changed. So memory of any discipline, a user's own structs too, can be checkpointed.
//
// Which pages. `written`: those stored to since the last boundary (written_pages.hpp). `copies`:
//  all that are the process's own, for kernels before 6.7. `all`: every page of the region, where
//  not even these are shown. Each names the pages of the one before and more, so that it may take
//  over at any boundary when the one before fails.
//
// Which lines. Those that differ from the base file, 64 bytes compared at a time. But the base has
//  a line's last captured value only once the journal's record of it was applied. Until then it has
//  an older one, or is just being written. So each page has a mask with a bit for each line that
//  was captured and perhaps is not applied yet, and a line is captured if its bit is set OR it
//  differs.
//
// Invariants, with P(l) what memory has of line l, B(l) what the base file has, and C(l) what it
// was when it was last captured (at first: when the region was mapped).
//  T1 Who applies changes a line of the base only if a record that was not given up yet has it.
//     Other lines of a page it may write again as they are, and whoever reads them meanwhile reads
//     just that. What it wrote is seen in a mapping of the file before applied_epoch() counts it.
//  T2 bit(l) = 0 at a boundary means: no record that was not given up has l, and B(l) = C(l).
//     Bits are set when a line is captured, whoever named it. Those of a page are cleared when
//     applied_epoch() >= the epoch in which a line of it was last captured: the journal says so
//     after base and header were synced (J3, J4 of journal/core.hpp), and then all of the page's
//     lines are in the base, and no later record has any.
//  T3 A page that was not looked at was not stored to since the boundary before: P = C there.
//  So for a line with bit 0, B(l) stands still while it is compared, by T1 and T2, however busy the
//  applying thread is with other lines of the same page: "differs from the base" is "differs from
//  what was captured last", no more and no less.
//  A line with bit 1 is not compared at all, for B(l) says nothing about it. It is captured
//  whenever its page is looked at. That is more than needed where it did not change; and it is what
//  saves the line that changed back: P(l) = B(l), but a record with C(l) != P(l) is still to be
//  applied, and would bring the base, or a recovery, to a value that is not in memory any more.
//
// Giving memory back (private_pages.hpp). At a boundary this one collects, then the lines are
//  captured, then pages are dropped, all with the world stopped. A page with a change nobody named
//  is captured in this very epoch, so M1 keeps it; one that has none is as the base has it, and
//  loses nothing. A page that is dropped was last captured in an epoch that is applied: its mask
//  counts as clear (T2), and what it reads as then is B = C.
//
// A page that is not a copy reads as the base does, whoever writes there: P = B. It has no line
//  that is not applied: to be captured it must have been stored to, and since it was given back its
//  mask counts as clear.
//
// Bounds. Nobody calls dirty_set::note() and is slowed down there. Instead look() counts the pages
//  written to now and then, asks for a boundary beyond a limit (pressure()) and holds writers up
//  far beyond it (is_overfull()), with `written` alone. With the other two, and between two looks,
//  an epoch is as large as what is stored in it.
// Concurrency. collect() and captured() by the boundary's leader; look() by one thread; watch() by
//  whoever grows the region, before it shows the new pages; the rest by anybody.
// Cost. A boundary reads each page that it looks at, and what the base has of it: from the disk if
//  the page cache has lost it. 16 bytes of address space for each page, paid for when captured.
// The region's header is not looked at: it is stored to outside of operations, and its lines are
//  named.
#pragma once

#include "base/bits.hpp"
#include "paging/written_pages.hpp"

#include <atomic>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace hf {

class page_tracker {
   public:
    enum class way : u8 { written = 1, copies, all };

    /// For a private mapping of the file `fd`, which outlives the tracker, in [base, base +
    /// max_bytes). Uses the best way that works, `best` at most.
    page_tracker(const std::byte* base, u64 max_bytes, int fd, way best = way::written);
    page_tracker(const page_tracker&) = delete;
    page_tracker& operator=(const page_tracker&) = delete;
    ~page_tracker();

    /// The region's bytes [from, to) were mapped, and nobody has stored to them yet.
    void watch(u64 from, u64 to) noexcept;

    /// The lines of the region's first `region_bytes` that may differ from what was captured last;
    /// the base has all epochs up to `applied_epoch`. The world is stopped.
    [[nodiscard]] std::vector<u64> collect(u64 region_bytes, u64 applied_epoch);
    /// These lines are captured in `epoch`: what collect() found, and what others named.
    void captured(std::span<const u64> lines, u64 epoch) noexcept;

    /// Counts the pages that were written to since the last boundary, if that can be told.
    void look(u64 region_bytes);
    void set_limit(u64 pages) noexcept { limit_.store(pages, std::memory_order_relaxed); }
    /// Whether there are so many that the epoch should end.
    [[nodiscard]] bool pressure() const noexcept { return seen() > limit(); }
    /// Whether the last boundary captured more than so many lines that may not have changed, for
    /// they are not applied yet. Such lines are found again and again until all of them are: the
    /// next boundary should wait for that.
    [[nodiscard]] bool repeats_itself() const noexcept {
        return again_.load(std::memory_order_relaxed) > limit();
    }
    /// Whoever can wait should.
    [[nodiscard]] bool is_overfull() const noexcept { return seen() / 4 > limit(); }

    [[nodiscard]] way how() const noexcept { return way_.load(std::memory_order_relaxed); }
    [[nodiscard]] u64 pages_looked_at() const noexcept { return pages_; }
    [[nodiscard]] u64 lines_found() const noexcept { return lines_; }
    [[nodiscard]] u64 last_collect_ns() const noexcept { return last_ns_; }

   private:
    struct page_state {
        u64 mask;   ///< lines captured and perhaps not applied
        u64 epoch;  ///< in which one of them was captured last
    };
    [[nodiscard]] u64 seen() const noexcept {
        return how() == way::written ? seen_.load(std::memory_order_relaxed) : 0;
    }
    [[nodiscard]] u64 limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
    void fall_back(way to) noexcept { way_.store(to, std::memory_order_relaxed); }
    void find_pages(u64 end);
    bool find_copies(u64 end);
    bool reach(u64 bytes) noexcept;
    [[nodiscard]] u64 lines_to_capture(u64 page, u64 applied) noexcept;

    const std::byte* base_;
    u64 max_pages_;
    int fd_;
    page_state* states_;
    const std::byte* file_ = nullptr;  ///< the base file, mapped to be read
    u64 file_bytes_ = 0;               ///< of it mapped
    std::atomic<way> way_;
    std::unique_ptr<written_pages> written_;
    page_table page_table_;
    std::vector<small_page_run> runs_;  ///< of the boundary

    std::atomic<u64> seen_{0};       ///< pages, by the last look
    std::atomic<u64> collected_{0};  ///< boundaries
    std::atomic<u64> again_{0};      ///< lines that the last one found for their masks alone
    std::atomic<u64> limit_{~u64{0}};
    std::atomic<u64> pages_{0};
    std::atomic<u64> lines_{0};
    std::atomic<u64> last_ns_{0};
};

[[nodiscard]] std::string_view to_string(page_tracker::way w) noexcept;

}  // namespace hf
