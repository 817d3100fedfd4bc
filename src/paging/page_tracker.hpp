// paging/page_tracker.hpp: finds the changed lines of a region, without reports of the code that
// changes them.
//
// Purpose. On the medium `file` a checkpoint must contain the lines that changed. If the code that
// changes them is not ours, or does not record lines, the tracker finds them at the epoch boundary:
// the kernel knows the pages that were stored to, and the lines of such a page that differ from the
// base file have changed. So memory of any discipline, including a user's own structs, can be
// checkpointed.
//
// Which pages. `written`: those stored to since the last boundary (written_pages.hpp). `copies`:
// all that are private copies, for kernels before 6.7. `all`: every page of the region, if not even
// these are known. Each method covers the pages of the previous one and more, so it may take over
// at any boundary when the previous one fails.
//
// Which lines. Those that differ from the base file, compared 64 bytes at a time. But the base
// contains a line's last captured value only after the journal's record of it was applied. Until
// then it contains an older one, or is just being written. So each page has a mask with a bit for
// each line that was captured and may not be applied yet, and a line is captured if its bit is set
// OR it differs.
//
// Invariants, with P(l) the contents of line l in memory, B(l) in the base file, and C(l) when it
// was last captured (initially: when the region was mapped).
//  T1 The applying thread changes a line of the base only if a live record (one that the journal's
//     header still covers) contains it. Other lines of a page it may rewrite with the same
//     contents, and concurrent readers read just those. Its writes are visible in a mapping of the
//     file before applied_epoch() counts them.
//  T2 bit(l) = 0 at a boundary means: no live record contains l, and B(l) = C(l). Bits are set when
//     a line is captured, however it was found. A page's bits are cleared when applied_epoch() >=
//     the epoch in which a line of it was last captured: the journal reports that after base and
//     header were synced (J3, J4 of journal/core.hpp), and then all of the page's lines are in the
//     base, and no later record contains any.
//  T3 A page that is not checked was not stored to since the previous boundary: P = C there.
//  So for a line with bit 0, B(l) does not change while it is compared, by T1 and T2, even if the
//  applying thread writes other lines of the same page: "differs from the base" is equivalent to
//  "differs from what was captured last".
//  A line with bit 1 is not compared, because B(l) is meaningless. It is captured whenever its page
//  is checked. That is unnecessary if it did not change; but it is required for a line that changed
//  back: P(l) = B(l), but a record with C(l) != P(l) is still to be applied, and would bring the
//  base, or a recovery, to a value that is no longer in memory.
//
// Giving memory back (private_pages.hpp). At a boundary the tracker collects, then the lines are
// captured, then pages are dropped, all with the world stopped. A page with an unrecorded change is
// captured in this very epoch, so M1 keeps it; a page without changes equals the base and loses
// nothing. A page that is dropped was last captured in an epoch that is applied: its mask counts as
// clear (T2), and it then reads as B = C.
//
// A page that is not a copy reads as the base does, whatever is written there: P = B. It has no
// line that is not applied: to be captured it must have been stored to, and when it was dropped its
// mask counted as clear.
//
// Bounds. Writers cannot be throttled one by one in dirty_set::note(). Instead look() counts the
// written pages from time to time, asks for a boundary beyond a limit (pressure()) and delays
// writers far beyond it (is_overfull()); with `written` only. With the other methods, and between
// two calls of look(), the size of an epoch is unbounded.
// Concurrency. collect() and captured() by the boundary's leader; look() by one thread; watch() by
// the thread that grows the region, before it publishes the new pages; the rest by any thread.
// Cost. A boundary reads each page that it checks, and the base's version of it: from the disk if
// the page cache has evicted it. 16 bytes of address space for each page, allocated when captured.
// The region's header is not checked: it is stored to outside of operations, and its lines are
// recorded explicitly.
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

    /// For a private mapping of the file `fd` at [base, base + max_bytes); the file outlives the
    /// tracker. Uses the best method that works, `best` at most.
    page_tracker(const std::byte* base, u64 max_bytes, int fd, way best = way::written);
    page_tracker(const page_tracker&) = delete;
    page_tracker& operator=(const page_tracker&) = delete;
    ~page_tracker();

    /// The region's bytes [from, to) were mapped, and not stored to yet.
    void watch(u64 from, u64 to) noexcept;

    /// Returns the lines of the region's first `region_bytes` that may differ from what was
    /// captured last. The base contains all epochs up to `applied_epoch`. The world is stopped.
    [[nodiscard]] std::vector<u64> collect(u64 region_bytes, u64 applied_epoch);
    /// Call with all lines captured in `epoch`: those of collect(), and those recorded otherwise.
    void captured(std::span<const u64> lines, u64 epoch) noexcept;

    /// Counts the pages written since the last boundary, if the method allows it.
    void look(u64 region_bytes);
    void set_limit(u64 pages) noexcept { limit_.store(pages, std::memory_order_relaxed); }
    /// Whether enough pages are written for the epoch to end.
    [[nodiscard]] bool pressure() const noexcept { return seen() > limit(); }
    /// Whether the last boundary captured many lines only because they are not applied yet. Such
    /// lines are captured again and again until all of them are applied: the next boundary should
    /// wait for that.
    [[nodiscard]] bool repeats_itself() const noexcept {
        return again_.load(std::memory_order_relaxed) > limit();
    }
    /// Whether writers should be delayed.
    [[nodiscard]] bool is_overfull() const noexcept { return seen() / 4 > limit(); }

    [[nodiscard]] way how() const noexcept { return way_.load(std::memory_order_relaxed); }
    [[nodiscard]] u64 pages_looked_at() const noexcept { return pages_; }
    [[nodiscard]] u64 lines_found() const noexcept { return lines_; }
    [[nodiscard]] u64 last_collect_ns() const noexcept { return last_ns_; }

   private:
    struct page_state {
        u64 mask;   ///< lines captured and possibly not applied
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
    const std::byte* file_ = nullptr;  ///< read-only mapping of the base file
    u64 file_bytes_ = 0;               ///< of the mapping
    std::atomic<way> way_;
    std::unique_ptr<written_pages> written_;
    page_table page_table_;
    std::vector<small_page_run> runs_;  ///< found at the boundary

    std::atomic<u64> seen_{0};       ///< pages, at the last look()
    std::atomic<u64> collected_{0};  ///< number of boundaries
    /// lines that the last one captured only because of their mask
    std::atomic<u64> again_{0};
    std::atomic<u64> limit_{~u64{0}};
    std::atomic<u64> pages_{0};
    std::atomic<u64> lines_{0};
    std::atomic<u64> last_ns_{0};
};

[[nodiscard]] std::string_view to_string(page_tracker::way w) noexcept;

}  // namespace hf
