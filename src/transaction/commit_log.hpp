// transaction/commit_log.hpp: the commit records of one lane.
//
// Log segments, owned by the lane. Records are contiguous from the start of a segment,
// each on a line boundary; one that does not fit goes to the next segment. A record that
// fits into no segment continues in the next ones (R4), so it may take the whole reserve for logs.
// Writing restarts in each epoch: all older records are installed in their home locations, durably,
// since the boundary in between (epoch/write_back.hpp, E1). So records are never marked as
// obsolete.
//
// Invariants.
//  G1  In each segment the records of the running epoch form a prefix.
//  G2  A record is written only after make_room(), which reports all errors.
//
// Cost. A record is written to ordinary memory, and copied with streaming stores: its lines are
// whole, so nothing of them is read, and none is flushed. Longer records are written in place.
// A record in pieces is first written to ordinary memory of its own length.
//
// Full region. A log takes another segment, twice as long, as long as the reserve for logs
// lasts (undo/log_space.hpp); then errc::no_space. Short logs end their epoch early: is_used_up()
// before a transaction, has_records() after one that found no room. Lane 0's log is for all lanes
// without a log of their own: shared_log.
#pragma once

#include "region/region.hpp"
#include "transaction/commit_record.hpp"
#include "undo/log_space.hpp"

#include <mutex>
#include <span>
#include <vector>

namespace hf {

class commit_log {
   public:
    /// Finds the segments of lane `owner`.
    void attach(region& r, u16 owner);

    /// True if a short record may not fit any more without another segment, in this epoch.
    [[nodiscard]] bool is_used_up(u64 epoch) const noexcept {
        return epoch_ == epoch && place_.segment + 1 >= space_.segments().size() &&
               !space_.empty() && 4 * place_.at > 3 * space_.segments().back().bytes();
    }
    /// True if the end of that epoch would make room.
    [[nodiscard]] bool has_records(u64 epoch) const noexcept {
        return epoch_ == epoch && number_ != 0;
    }
    /// Makes room for one record of `bytes` bytes. errc::no_space: nothing has changed.
    [[nodiscard]] result<void> make_room(u64 bytes, u64 epoch);
    /// Fast path of make_room(): true if `most` bytes remain after the newest record of the current
    /// segment.
    [[nodiscard]] bool has_room(u64 most, u64 epoch) noexcept {
        begin_epoch(epoch);
        if (space_.room_at(place_) < most) return false;
        room_ = most;
        in_pieces_ = false;
        return true;
    }
    /// Room was made, but no record follows.
    void forget_room() noexcept { room_ = 0; }
    /// Writes the record there; it is durable with the next fence. Returns its offset.
    u64 lay(u64 epoch, u64 version, const record_body& body) noexcept;

    [[nodiscard]] u64 records() const noexcept { return records_.load(std::memory_order_relaxed); }
    [[nodiscard]] u64 bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }

   private:
    static constexpr u64 max_segment_pages = 4096;  // 256 MiB
    void begin_epoch(u64 epoch) noexcept {
        if (epoch_ == epoch) return;
        epoch_ = epoch;
        number_ = 0;
        place_ = {};
    }
    [[nodiscard]] result<void> make_room_in_pieces(u64 bytes);
    void copy_out(const u64* draft, u64 bytes) const noexcept;

    region* region_ = nullptr;
    u64 seed_ = 0;
    u64 epoch_ = 0;
    u32 number_ = 0;  ///< of the newest record
    log_place place_;
    u64 room_ = 0;  ///< upper bound on the record for which make_room() was called
    bool in_pieces_ = false;
    log_space space_{max_segment_pages};
    std::vector<u64> draft_;
    std::atomic<u64> records_{0};
    std::atomic<u64> bytes_{0};
};

/// A log that many lanes share, one at a time.
struct shared_log {
    std::mutex mutex;
    commit_log log;
};

}  // namespace hf
