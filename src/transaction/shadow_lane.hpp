// transaction/shadow_lane.hpp: the lines that a transaction changes, grouped by page.
//
// Purpose. The shadow engine owns, writes and records pages; a transaction has private copies of
// lines. A lane groups them before a commit: pages in ascending order, the copies of each page
// contiguous and in ascending order. The order is what recovery expects (lines_sum of
// commit_record.hpp), and what keeps commits from waiting for each other in a circle. A transaction
// that stores to ascending addresses, as one that overwrites a value does, is grouped without a
// sort.
//
// Concurrency. One thread's, as the lane is.
#pragma once

#include "transaction/context.hpp"
#include "transaction/shadow_slots.hpp"

#include <span>
#include <vector>

namespace hf {

/// The changes of a transaction in one page.
struct touched_page {
    u64 number;
    shadow::line_set written;  ///< lines with private copies
    shadow::line_set fresh;    ///< lines with words of blocks that it has allocated
    u32 first_copy;            ///< of `written`, in the lane's list
    u32 copies;
    shadow_slots::page* state;
    shadow::line_set committed = 0;  ///< which of its lines are in P1, before the commit

    [[nodiscard]] shadow::line_set lines() const noexcept { return written | fresh; }
    /// The lines that change slots.
    [[nodiscard]] shadow::line_set flipped() const noexcept {
        return written | (fresh & committed);
    }
    [[nodiscard]] shadow::page_change change() const noexcept {
        return {number, flipped(), flipped() & ~committed};
    }
};

/// The private copy of a line.
struct copy_of_line {
    u64 line;  ///< from the region's first
    const written_line* copy;

    [[nodiscard]] u64 page() const noexcept { return line / shadow::lines_per_page; }
    [[nodiscard]] unsigned bit() const noexcept { return line % shadow::lines_per_page; }
};

class shadow_lane final : public engine_lane {
   public:
    using engine_lane::engine_lane;

    /// Lists the lines and pages that the transaction changes. `first_line`: the region's.
    void gather(const context& t, u64 first_line, shadow_slots& slots);
    /// Pages with private copies that have no second slot.
    [[nodiscard]] u64 pages_without_slot() const noexcept;
    [[nodiscard]] std::span<const copy_of_line> copies_of(const touched_page& p) const noexcept {
        return {copies_.data() + p.first_copy, p.copies};
    }
    [[nodiscard]] std::size_t copies() const noexcept { return copies_.size(); }

    std::vector<touched_page> pages;
    std::vector<record_page> changes;
    std::vector<shadow_slots::slot*> stash;
    bool logs_fresh = false;
    bool is_committing = false;  ///< nothing can fail any more
    unsigned slot_conflicts = 0;
    u64 number = 0;  ///< of the record to come

   private:
    void list_copies(std::span<const written_line> lines, u64 first_line);
    void add_fresh(const fresh_block& b, u64 first_line, shadow_slots& slots);
    void sort_pages();

    std::vector<copy_of_line> copies_;
};

}  // namespace hf
