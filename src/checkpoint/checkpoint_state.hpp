// checkpoint_state.hpp: undoes a crashed epoch: the discipline's state over an epoch manager.
//
// Purpose. On persistent memory a crash leaves some of the lines of the running epoch and not the
// others. So a structure must be able to undo all its changes of an epoch: by a log in the same
// cache line (logged_cell.hpp, compact_cell.hpp, a leaf's own), or by an image in the external log
// (undo_log.hpp). This class knows which epochs have failed, so that code that reads such a log
// can decide whether to apply it (lazy recovery: Cohen et al., ASPLOS 2019, section 4.3), and it
// has a log writer for each lane.
//
// On the medium. The failed set is stored in the superblock pair, as ranges; the external log in
// log segments, by lane.
//
// Invariants. F1, F2 of failed_set.hpp, and
//  F3  An epoch is in the set, durably, before the first operation of the session after it, and
//      as long as anything in the region is stamped with it.
//  F4  Half of the set's room is reserved for crashes during the passes that empty it.
//
// Persist order of recovery after a crash in epoch E:
//  R1  the objects of the external log, as they were when E began, are durable (undo_log.hpp);
//  O1  then the superblock says that E has failed, in the same update in which the session begins;
//  O2  then the epoch record says E + 1: both by epoch_manager::start().
//
// Recovery. After a crash before O1, the next recovery finds the same E and the same entries. After
// it E + 1 is the running epoch; if that crashes, too, it joins the set, and the entries of E are
// not read again.
#pragma once

#include "checkpoint/failed_set.hpp"
#include "epoch/epoch_manager.hpp"
#include "undo/undo_log.hpp"

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
    /// True if a crash has left an epoch to undo.
    [[nodiscard]] bool needs_recovery() const noexcept {
        return epochs_.interrupted_epoch().has_value();
    }
    /// Applies the external log of the crashed epoch; `threads`: 0 means one a processor.
    [[nodiscard]] result<void> recover_log(unsigned threads = 0);
    [[nodiscard]] u64 recovered_entries() const noexcept { return recovered_entries_; }
    /// Begins the session: the crashed epoch counts as failed from here on.
    [[nodiscard]] result<void> start();
    /// True if the set of failed epochs is so full that the pass which empties it must run
    /// before any operation, with the clock stopped (F4).
    [[nodiscard]] bool must_sweep_first() const noexcept;

    // --- failed epochs ---
    /// Does not change while operations run, except by clear_failed().
    [[nodiscard]] const failed_set& failed() const noexcept { return failed_; }
    [[nodiscard]] u64 horizon() const noexcept { return horizon_.load(std::memory_order_acquire); }
    /// Empties the set; nothing in the region may be stamped with a failed epoch any more, durably.
    [[nodiscard]] result<void> clear_failed();
    /// True if a background pass is due although no epoch failed, because compact epoch stamps
    /// would become ambiguous.
    [[nodiscard]] bool restamp_due() const noexcept;

    // --- the external log ---
    /// Logs objects in the lane's log, called by its owner: log_writer::append(). A lane that finds
    /// no room for a log of its own shares that of lane 0.
    [[nodiscard]] result<void> log(const lane& l, std::span<const log_object> objects,
                                   u64 epoch) noexcept(!crashes_throw);
    /// True if a change of the lane failed for lack of log space, in this epoch or a later one.
    [[nodiscard]] bool log_ran_full(const lane& l, u64 epoch) const noexcept {
        return (*logs_)[l.index].full_in >= epoch;
    }
    [[nodiscard]] u64 log_entries() const noexcept;
    [[nodiscard]] u64 log_bytes() const noexcept;

    [[nodiscard]] epoch_manager& epochs() noexcept { return epochs_; }
    [[nodiscard]] region& file() noexcept { return epochs_.file(); }

   private:
    friend class operation;

    /// In separate cache lines, since the logs of lanes are written concurrently.
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
