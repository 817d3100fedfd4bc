// persist/dirty_set.hpp: which lines of a region changed since the last checkpoint.
//
// Purpose. On the medium `file` nothing reaches the disk by itself: memory is private to the
//  process. There "write this line back" means "the next checkpoint must contain it", and this set
//  is where medium::flush() says so. At the boundary journal/ takes the set and copies the lines.
//
// Invariants.
//  D1 A line stored to and then flushed is in the set until take(), however often it is flushed.
//  D2 A line is in the set if its bit is set; a page has a bit if one of its lines has. So what is
//     in the set is found in order, and without a look at the rest.
// Concurrency. note() may be called by any thread at any time. take() too, but whoever wants the
//  lines as they are must have stopped the writers: see epoch/capture.hpp.
// Memory. One bit a line and one a page, 1/504 of the region, reserved for the largest size and
//  paid for as it is touched.
// Cost of take(): of each line in it, and of one bit for each page below the highest ever noted.
// Bounds. When the set is larger than `limit` lines, it asks for a checkpoint (pressure()); beyond
//  twice of that each call of note() sleeps for a moment, so writers are slowed to what the disk
//  takes instead of filling the memory; beyond four times they should begin nothing
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
    /// For [base, base + max_bytes). Aborts when not even address space can be had.
    dirty_set(const std::byte* base, u64 max_bytes);
    dirty_set(const dirty_set&) = delete;
    dirty_set& operator=(const dirty_set&) = delete;
    ~dirty_set();

    /// Every line that [p, p + n) touches. n = 0 touches none.
    void note(const void* p, std::size_t n);
    /// The lines base + 64 * line_numbers[i].
    void note_lines(std::span<const u64> line_numbers);

    /// As note_lines(), at the boundary: never slowed down.
    void collect(std::span<const u64> line_numbers);

    /// Empties the set into `lines`, whatever was there: line numbers, ascending.
    void take(std::vector<u64>& lines);

    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] u64 size() const noexcept { return size_.load(std::memory_order_relaxed); }

    /// From how many lines on a checkpoint is asked for.
    void set_limit(u64 lines) noexcept { limit_.store(lines, std::memory_order_relaxed); }
    [[nodiscard]] bool pressure() const noexcept {
        return size() > limit_.load(std::memory_order_relaxed);
    }
    /// Whoever can wait should.
    [[nodiscard]] bool is_overfull() const noexcept {
        return size() / 4 > limit_.load(std::memory_order_relaxed);
    }

   private:
    [[nodiscard]] u64 add(u64 line) noexcept;
    void slow_down() const;

    const std::byte* base_;
    u64 pages_;  ///< a word of bits each
    u64* bits_;  ///< of lines; behind them those of pages
    u64* page_bits_;
    u64 end_page_ = 0;          ///< behind the highest ever noted
    mutable std::mutex mutex_;  // bits and end
    std::atomic<u64> size_{0};
    std::atomic<u64> limit_{~u64{0}};
};

}  // namespace hf
