// checkpoint_state.hpp: what undoes a crashed epoch: the discipline's state over an epoch manager.
//
// Purpose. On persistent memory a crash leaves some of the lines of the running epoch and not the
// others. Whatever a structure does in an epoch it can therefore undo: by a log in the same cache
// line (logged_cell.hpp, compact_cell.hpp, a leaf's own), or by an image in the external log
// (undo_log.hpp). This class knows which epochs have failed, so that whoever meets such a log
// knows whether to use it (lazy recovery: Cohen et al., ASPLOS 2019, section 4.3), and it keeps a
// log writer for each lane.
//
// On the medium. The failed set lies in the superblock pair, as ranges; the external log in
// segments of its own, by lane.
//
// Invariants. F1, F2 of failed_set.hpp, and
//  F3  An epoch is in the set, durably so, before the first operation of the session after it, and
//      until nothing in the region is stamped with it.
//  F4  Half of the set's room is kept for crashes during the passes that empty it.
//
// Persist order of an opening after a crash in epoch E:
//  R1  the objects of the external log, as they were when E began, are durable (undo_log.hpp);
//  O1  then the superblock says that E has failed, in the same update in which the session begins;
//  O2  then the epoch record says E + 1: both by epoch_manager::start().
//
// Recovery. Cut short before O1, the next opening finds the same E and the same entries. Behind it
// E + 1 is the running epoch; if that crashes, too, it joins the set, and the entries of E are not
// met again.
#pragma once

#include "undo/undo_log.hpp"
#include "checkpoint/failed_set.hpp"
#include "epoch/epoch_manager.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>

namespace hf {

class checkpoint_state {
   public:
    /// Reads the failed set; changes nothing yet. The manager has not been started.
    explicit checkpoint_state(epoch_manager& epochs);

    // --- recovery, before start() ---
    /// Whether a crash has left an epoch to undo.
    [[nodiscard]] bool needs_recovery() const noexcept {
        return epochs_.interrupted_epoch().has_value();
    }
    /// Applies the external log of the crashed epoch; `threads`: 0 means one a processor.
    [[nodiscard]] result<void> recover_log(unsigned threads = 0);
    [[nodiscard]] u64 recovered_entries() const noexcept { return recovered_entries_; }
    /// Begins the session: the crashed epoch counts as failed from here on.
    [[nodiscard]] result<void> start();
    /// Whether so many crashes have left their epochs that the pass which empties the set must come
    /// before anything else, with the clock still standing (F4).
    [[nodiscard]] bool must_sweep_first() const noexcept;

    // --- failed epochs ---
    /// Stable while operations run, but for clear_failed().
    [[nodiscard]] const failed_set& failed() const noexcept { return failed_; }
    [[nodiscard]] u64 horizon() const noexcept { return horizon_.load(std::memory_order_acquire); }
    /// Forgets the failed epochs: nothing in the region is stamped with one any more, durably so.
    [[nodiscard]] result<void> clear_failed();
    /// Whether a background pass is due though nothing failed: compact epochs would become
    /// ambiguous.
    [[nodiscard]] bool restamp_due() const noexcept;

    // --- the external log ---
    /// Into the log of the lane, by its owner: log_writer::append(). A lane that finds no room for
    /// a log of its own shares the one of lane 0 with others of its kind.
    [[nodiscard]] result<void> log(const lane& l, std::span<const log_object> objects,
                                   u64 epoch) noexcept(!crashes_throw);
    /// Whether the lane's changes were refused for want of room in the log, in this epoch or later.
    [[nodiscard]] bool log_ran_full(const lane& l, u64 epoch) const noexcept {
        return (*logs_)[l.index].full_in >= epoch;
    }
    [[nodiscard]] u64 log_entries() const noexcept;
    [[nodiscard]] u64 log_bytes() const noexcept;

    [[nodiscard]] epoch_manager& epochs() noexcept { return epochs_; }
    [[nodiscard]] region& file() noexcept { return epochs_.file(); }

   private:
    friend class operation;

    /// In lines of its own: others' logs are written at the same time.
    struct alignas(64) lane_log {
        log_writer writer;
        bool attached = false;
        u64 full_in = 0;  ///< epoch; 0: never
    };
    [[nodiscard]] log_writer& log_of(u32 lane);

    epoch_manager& epochs_;
    failed_set failed_;
    std::atomic<u64> horizon_{0};
    u64 recovered_entries_ = 0;
    bool log_applied_ = false;
    std::unique_ptr<std::array<lane_log, max_lanes>> logs_;  ///< by the lane's index
    std::mutex shared_log_;                                  ///< that of lane 0
};

}  // namespace hf
