// persist/dirty_set.hpp: the lines of a region that changed since the last checkpoint.
//
// Purpose. On the medium `file` memory is private to the process, so no store reaches the disk by
//  itself. There "write this line back" means "the next checkpoint must contain it", and
//  medium::flush() adds the line to this set. At the boundary journal/ takes the set and copies the
//  lines.
//
// Invariants.
//  D1 A line stored to and then flushed is in the set until take(), however often it is flushed.
//  D2 A line is in the set if its bit is set; a page has a bit if one of its lines has. So the set
//     is enumerated in order, without reading the bits of other pages' lines.
// Concurrency. note() may be called by any thread at any time, and so may take(). But take() finds
//  consistent lines only if the caller has stopped the writers: see epoch/capture.hpp.
// Memory. One bit a line and one a page, 1/504 of the region. Address space is reserved for the
//  maximum size; physical memory is allocated as it is touched.
// Cost of take(): proportional to its lines, plus one bit for each page below the highest dirty
// one. Bounds. If the set has more than `limit` lines, it requests a checkpoint (pressure()).
// Beyond
//  twice that number each call of note() sleeps for a moment, so writers are throttled to the speed
//  of the disk and do not fill the memory. Beyond four times they should begin no operation
//  (is_overfull()).
#pragma once

#include "base/bits.hpp"

#include <atomic>
#include <mutex>
#include <span>
#include <vector>

namespace hf {

class dirty_set {
   public:
    /// For [base, base + max_bytes). Aborts the process if it cannot reserve address space.
    dirty_set(const std::byte* base, u64 max_bytes);
    dirty_set(const dirty_set&) = delete;
    dirty_set& operator=(const dirty_set&) = delete;
    ~dirty_set();

    /// Adds every line that [p, p + n) touches. n = 0 touches none.
    void note(const void* p, std::size_t n);
    /// Adds the lines base + 64 * line_numbers[i].
    void note_lines(std::span<const u64> line_numbers);

    /// As note_lines(), but never throttled: for the boundary.
    void collect(std::span<const u64> line_numbers);

    /// Moves the set into `lines`, replacing its contents: line numbers, ascending.
    void take(std::vector<u64>& lines);

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] u64 size() const noexcept { return size_.load(std::memory_order_relaxed); }

    /// Number of lines from which on the set requests a checkpoint.
    void set_limit(u64 lines) noexcept { limit_.store(lines, std::memory_order_relaxed); }
    [[nodiscard]] bool pressure() const noexcept {
        return size() > limit_.load(std::memory_order_relaxed);
    }
    /// True if threads that can wait should wait.
    [[nodiscard]] bool is_overfull() const noexcept {
        return size() / 4 > limit_.load(std::memory_order_relaxed);
    }

   private:
    [[nodiscard]] u64 add(u64 line) noexcept;
    void slow_down() const;

    const std::byte* base_;
    u64 pages_;  ///< number of pages, each with a word of line bits
    u64* bits_;  ///< bits of lines, followed by those of pages
    u64* page_bits_;
    u64 end_page_ = 0;          ///< one past the highest page ever added
    mutable std::mutex mutex_;  // guards bits_ and end_page_
    std::atomic<u64> size_{0};
    std::atomic<u64> limit_{~u64{0}};
};

}  // namespace hf
