// section/graph/lane_log.hpp: the ring in which one lane logs what would undo its sections.
//
// Purpose. The owner appends entries (log_entry.hpp) and makes them durable before the stores that
// they undo. The manager (graph_mode.hpp) drops entries of sections that can never be undone.
//
// Invariants.
//  L1  Entries are made durable as a prefix: persist() covers every entry written before it.
//  L2  Positions [head, next) are in use; a position is reused, one lap later, only after a head
//      beyond it is durable.
//  L3  `kept` and `head` lie in one line and are stored in this order. A crash between the two
//      leaves entries of sections up to `kept`, which recovery skips by their numbers.
//
// Concurrency. The owner calls append() and persist(). One other thread at a time, the manager,
// calls flush_written(), set_durable() and drop_until().
#pragma once

#include "persist/ordered.hpp"
#include "region/region.hpp"
#include "section/graph/log_entry.hpp"

#include <atomic>

namespace hf::graph {

/// The two words of a lane's head. Each has a check (pack_checked()).
struct alignas(line_size) lane_head {
    u64 kept;      ///< number of the last section that is never undone
    u64 position;  ///< of the first entry that counts
};

/// Owners of the segments of kind section_log: one for the control segment, one for each lane.
inline constexpr u16 control_owner = 0;
[[nodiscard]] constexpr u16 owner_of(u32 lane) noexcept { return static_cast<u16>(lane + 1); }

/// Seed of all checks in this region.
[[nodiscard]] u64 region_seed(const region& r) noexcept;

/// Seeds of the checks of a lane's two head words.
[[nodiscard]] constexpr u64 kept_seed(u64 region, u32 lane) noexcept { return region ^ lane; }
[[nodiscard]] constexpr u64 position_seed(u64 region, u32 lane) noexcept {
    return ~(region ^ lane);
}

/// Where the parts of a lane's segment lie.
class lane_log_view {
   public:
    lane_log_view(const region& r, const segment& s) noexcept
        : head_(r.at<lane_head>(s.offset)),
          entries_(r.at<log_entry>(s.offset + line_size)),
          capacity_((s.bytes() - line_size) / entry_bytes) {}

    [[nodiscard]] lane_head& head() const noexcept { return *head_; }
    [[nodiscard]] u64 capacity() const noexcept { return capacity_; }  ///< entries
    [[nodiscard]] log_entry& at(u64 position) const noexcept {
        return entries_[position % capacity_];
    }

   private:
    lane_head* head_;
    log_entry* entries_;
    u64 capacity_;
};

class lane_log {
   public:
    /// Starts an empty log of this session in the lane's segment. Durable when it returns.
    lane_log(region& r, const segment& s, const log_identity& of);

    [[nodiscard]] u64 capacity() const noexcept { return view_.capacity(); }
    [[nodiscard]] u64 used() const noexcept {
        return next_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire);
    }
    /// Position of the next entry.
    [[nodiscard]] u64 next() const noexcept { return next_.load(std::memory_order_acquire); }

    /// REQUIRES: used() < capacity(). `e.check` and `e.unfenced` are filled in.
    void append(log_entry e) noexcept;
    /// Makes all entries that were appended durable (L1). One fence, or none if they are already.
    void persist() noexcept;

    /// Writes back the entries before `position` that may not be durable. The caller fences, and
    /// then says set_durable().
    void flush_written(u64 position) const noexcept;
    void set_durable(u64 position) noexcept;
    /// Sections up to `kept` can never be undone; entries before `position` are theirs. The caller
    /// fences, and only then calls reuse_until().
    void drop_until(u64 kept, u64 position) noexcept;
    void reuse_until(u64 position) noexcept { head_.store(position, std::memory_order_release); }

   private:
    void store_head(u64 kept, u64 position) noexcept;

    const region& region_;
    lane_log_view view_;
    log_identity of_;
    std::atomic<u64> next_{0};
    std::atomic<u64> head_{0};
    std::atomic<u64> durable_{0};  ///< entries before this position are durable
};

}  // namespace hf::graph
