// epoch_manager.hpp: the epochs of one region, for any discipline.
//
// Purpose. Execution is cut into epochs (Cohen et al., ASPLOS 2019, sections 3 and 4). Each
// change of the region passes the gate and belongs to one epoch. At an epoch's end the gate closes,
// the threads inside leave, the epoch's lines are written back or captured (boundary.hpp), and the
// gate opens for the next one. So every discipline has a cut between its operations, tickets and
// group commit; one that undoes (checkpoint/) and one that doesn't need to (snapshot/, or any on
// the medium `file`) alike. The same boundary is the grace period for memory: what was unlinked in
// epoch e has no reader left in e + 1.
//
// The parts: gate.hpp (who is inside), lane.hpp (dirty lines by thread), boundary.hpp with
// write_back.hpp and capture.hpp (making an epoch durable), group_commit.hpp (those who wait),
// clock.hpp (ends an epoch when no other thread does). This class calls them in order.
//
// Life of a region's epochs:
//
//     open() ------> start() ------> start_clock() -------> close()
//       '- read only:  O1, O2,         epochs end by          the last epoch,
//          what did a  first capture   themselves             then clean
//          crash leave?
//
// Invariants.
//  N1  An epoch's number only grows, and is never used twice, crashes included.
//  N2  durable < current. Epochs become durable, and are announced, one by one in their order (G4).
//
// Persist order of a boundary: E1 to E3 in write_back.hpp; the journal's on the medium `file`.
//
// Persist order of open, after whatever undoes a crashed epoch has been applied durably:
//  O1  superblock := {generation + 1, dirty, first epoch F} and what the discipline adds, such as
//      its failed set;
//  O2  then epoch_record := F. After a crash between the two, the next open takes the greater of
//      the record and the superblock's first epoch as the interrupted one: nothing happened in it.
//
// Recovery. On persistent memory a crash interrupts the epoch that the record names: each of
// its stores may have reached the medium or not, and the discipline undoes them
// (interrupted_epoch()). On the medium `file` none has.
//
// Time-out. With epoch_options::patience every call that closes the gate uses try_close()
// (gate.hpp), so that no thread of the program waits for long at the closed gate, and none leads:
// only the clock's thread does, or an explicit caller of end_epoch(), with_world_stopped(),
// update_super() and close(), which is outside and holds no lock that a section may take. An
// attempt that fails is repeated after a pause (attempts.hpp). wait_durable() asks the clock, and
// sleeps.
//
// A long piece of work (a scan, a large value) leaves and enters again, so it doesn't hold the
// boundary up.
//
// Literature: Cohen et al., Fine-Grain Checkpointing with In-Cache-Line Logging (ASPLOS 2019); Mao
// et al., Masstree (EuroSys 2012) for epochs as grace periods.
#pragma once

#include "base/histogram.hpp"
#include "epoch/attempts.hpp"
#include "epoch/boundary.hpp"
#include "epoch/clock.hpp"
#include "epoch/gate.hpp"
#include "epoch/group_commit.hpp"
#include "epoch/lane.hpp"
#include "epoch/options.hpp"
#include "persist/persist_point.hpp"
#include "recovery/opening.hpp"
#include "sync/fork.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

namespace hf {

class epoch_manager {
   public:
    /// A discipline's part of an update of the superblock.
    using super_change = std::function<void(layout::superblock&)>;

    /// Reads the superblock and the epoch record; changes nothing yet.
    [[nodiscard]] static result<std::unique_ptr<epoch_manager>> open(const opened_region& opened,
                                                                     const epoch_options& options);
    /// Stops the clock. Ends no epoch: see close().
    ~epoch_manager();
    epoch_manager(const epoch_manager&) = delete;
    epoch_manager& operator=(const epoch_manager&) = delete;

    // --- a session ---
    /// The epoch that a crash has left half done; nullopt: there is none, or nothing of it is left.
    [[nodiscard]] std::optional<u64> interrupted_epoch() const noexcept { return interrupted_; }
    /// Begins the session (O1, O2) and lets operations in.
    [[nodiscard]] result<void> start(const super_change& add = {});
    /// From here on epochs end by themselves.
    void start_clock();
    /// Ends the epoch for good and marks the region clean. No operation may be running or follow.
    /// With a time-out, errc::busy: a section did not end. The region is not clean then, and
    /// close() may be called again.
    [[nodiscard]] result<void> close();

    // --- epochs ---
    [[nodiscard]] u64 current_epoch() const noexcept {
        return current_.load(std::memory_order_acquire);
    }
    [[nodiscard]] u64 durable_epoch() const noexcept { return commits_.durable(); }
    /// Ends the running epoch now, unless the medium refuses. Not from inside an operation. With
    /// a time-out: repeats the attempt until one succeeds.
    void end_epoch();
    /// As end_epoch(), but only if `epoch` is still running.
    void end_epoch(u64 epoch);
    /// One attempt to end the running epoch, with a time-out. After any outcome but `closed` the
    /// epoch is still running, and the clock tries again. `taken`: another thread leads, or the
    /// medium is not ready. `owed`: a thread is still to pass, or the pause after a failed attempt
    /// is not over.
    [[nodiscard]] close_attempt try_end_epoch();
    /// Returns once epoch `t` is durable; ends it early (group commit). Not from inside an
    /// operation. errc::no_space: the medium refuses; it may become durable later.
    [[nodiscard]] result<void> wait_durable(u64 t);
    /// errc::no_space while the medium has no room to make an epoch durable. Writes would then only
    /// take memory.
    [[nodiscard]] result<void> accepts_writes() const { return boundary_->accepts_writes(); }
    /// To be called before a write, outside of an operation: waits while the lines that the disk
    /// does not have yet take more memory than the budget. Does not wait while the medium has no
    /// room, nor without a clock, for then this thread may be the one that ends the epoch. With a
    /// time-out it waits at most P: a section in flight may wait for this thread.
    void slow_writer() const {
        if (bounds_writers_ && boundary_->writers_are_ahead()) [[unlikely]] {
            if (options_.epoch != no_clock) boundary_->hold_writer(hold_until());
        }
    }
    /// To be called before an epoch is ended by hand in a region that tracks pages: waits until the
    /// base has so much that the epoch's lines are not those of all epochs before
    /// (page_tracker.hpp, the ways that name more pages than were written to). Not while the medium
    /// refuses.
    void wait_for_base() const;
    /// Runs `work` with no operation inside, in the running epoch; `work` may note lines in the
    /// lane. An exception of `work` (damage) is passed on after the gate was opened.
    void with_world_stopped(const std::function<void(lane&)>& work);
    /// Changes the superblock during a session. With a time-out, errc::busy: a section did
    /// not end, and nothing is changed.
    [[nodiscard]] result<void> update_super(const super_change& change);

    // --- lanes ---
    [[nodiscard]] lane& my_lane() { return lanes_.mine(); }
    /// Begin and end of an operation, on the thread's own lane. Use epoch_guard where possible.
    void enter(lane& l) noexcept {
        if (!gate_.try_enter(l)) [[unlikely]] {
            enter_late(l);
        }
        l.epoch = current_.load(std::memory_order_relaxed);
    }
    static void leave(lane& l) noexcept { gate::leave(l); }
    /// False: the gate is not open, and the caller is outside.
    [[nodiscard]] bool try_enter(lane& l) noexcept {
        if (!gate_.try_enter(l)) [[unlikely]] {
            return false;
        }
        l.epoch = current_.load(std::memory_order_relaxed);
        return true;
    }
    /// A section begins on the thread's own lane, inside of others or not. Only the outermost
    /// passes the gate (B5). `where` is for the message if the section is in the way; that of the
    /// outermost counts.
    void enter_section(lane& l, u64 where) noexcept {
        if (l.depth == 0) {
            l.where.store(where, std::memory_order_relaxed);
            enter(l);
        }
        ++l.depth;
    }
    /// As enter_section(), but never waits. False: the gate is not open, the caller is outside.
    [[nodiscard]] bool try_enter_section(lane& l, u64 where) noexcept {
        if (l.depth == 0) {
            l.where.store(where, std::memory_order_relaxed);
            if (!try_enter(l)) return false;
        }
        ++l.depth;
        return true;
    }
    static void leave_section(lane& l) noexcept {
        HF_ASSERT(l.depth != 0, "B5: a section ends that has not begun");
        if (--l.depth == 0) gate::leave(l);
    }
    /// Runs `work` if lane `index` belongs to no thread; the lane can't be taken meanwhile.
    bool with_idle_lane(u32 index, const std::function<void()>& work) {
        return lanes_.with_idle(index, work);
    }
    [[nodiscard]] bool is_pinned(u64 offset) const noexcept;
    [[nodiscard]] u32 lanes_used() const noexcept { return lanes_.used(); }

    [[nodiscard]] region& file() noexcept { return region_; }
    /// The journal of a region on the medium `file`; nullptr on other media.
    [[nodiscard]] journalled_file* journal() const noexcept { return journal_; }
    /// False: epochs are a grace period only (epoch_options::durable).
    [[nodiscard]] bool durable() const noexcept { return options_.durable; }

    // --- numbers ---
    /// How long the gate was closed, counted from when the leader began to close it; with a
    /// time-out, failed attempts count too.
    [[nodiscard]] pause_statistics pauses() const;
    /// The attempts to close the gate. All zero without a time-out.
    [[nodiscard]] gate_statistics gate_numbers() const { return attempts_.numbers(); }
    [[nodiscard]] u64 last_pause_ns() const noexcept {
        return last_pause_.load(std::memory_order_relaxed);
    }
    /// All zero on media without a journal.
    [[nodiscard]] journal_statistics journal_numbers() const;

   private:
    epoch_manager(region& file, journalled_file* journal, const epoch_options& options);
    [[nodiscard]] result<void> read_epochs();
    [[nodiscard]] result<void> write_session(u64 first, const super_change& add);

    void enter_late(lane& l) noexcept;
    void wait_at_gate();
    /// The gate is closed, and the caller leads. False: another thread did; or, with a time-out, an
    /// attempt failed and its pause is over.
    [[nodiscard]] bool close_gate();
    void note_pause(u64 ns);

    // With a time-out (patient.cpp).
    [[nodiscard]] bool is_patient() const noexcept { return attempts_.are_limited(); }
    [[nodiscard]] close_attempt try_close_gate();
    [[nodiscard]] result<void> stop_world(const std::function<void(lane&)>& work, u64 deadline_ns);
    void work_in_closed_gate(const std::function<void(lane&)>& work);
    [[nodiscard]] result<void> end_epoch_by_attempts();
    [[nodiscard]] std::chrono::nanoseconds end_due_epoch_patiently();
    void keep_still_patiently();
    void ask_clock_for(u64 epoch);
    [[nodiscard]] bool is_asked_for() const noexcept {
        return asked_for_.load() >= current_epoch();
    }
    [[nodiscard]] error in_the_way(const char* what) const;
    [[nodiscard]] u64 tries_until() const noexcept;
    [[nodiscard]] u64 hold_until() const noexcept;

    /// If memory runs out the process ends, as in a crash, for the gate is closed. True: the
    /// leader, which `waits`, is to call write_submitted().
    [[nodiscard]] bool lead_boundary(bool waits) noexcept(!crashes_throw);
    void end_epoch(u64 ending, bool waits);
    void announce(u64 epoch);
    void end_as_promised(u64 t);
    [[nodiscard]] result<void> end_epoch_for_sure();
    [[nodiscard]] std::chrono::nanoseconds tick();
    void end_due_epoch();
    [[nodiscard]] bool keeps_still_for_copies() const noexcept;
    void keep_still();
    [[nodiscard]] std::chrono::nanoseconds since_boundary() const noexcept;
    [[nodiscard]] bool anything_written() const;

    process_mark made_in_;
    region& region_;
    journalled_file* const journal_;
    const epoch_options options_;
    bool started_ = false;
    std::optional<u64> interrupted_;

    lanes lanes_;
    gate gate_;
    attempts attempts_;
    u64 closing_since_ns_ = 0;       ///< when the leader began to close the gate
    std::atomic<u64> asked_for_{0};  ///< the clock is to end the epochs up to this one
    alignas(64) std::atomic<u64> current_{0};
    group_commit commits_;
    std::unique_ptr<boundary> boundary_;
    bool bounds_writers_ = false;

    std::atomic<u64> last_boundary_ns_{0};
    std::atomic<u64> last_pause_{0};
    std::atomic<u64> late_ns_{0};  ///< for how long epochs waited for the disk, though due
    mutable std::mutex pause_mutex_;
    histogram pauses_;

    epoch_clock clock_;
};

/// Inside an epoch from construction to destruction. They don't nest.
class epoch_guard {
   public:
    explicit epoch_guard(epoch_manager& epochs) : epoch_guard(epochs, epochs.my_lane()) {}
    epoch_guard(epoch_manager& epochs, lane& mine) noexcept : lane_(mine) { epochs.enter(mine); }
    ~epoch_guard() { epoch_manager::leave(lane_); }
    epoch_guard(const epoch_guard&) = delete;
    epoch_guard& operator=(const epoch_guard&) = delete;

    [[nodiscard]] u64 epoch() const noexcept { return lane_.epoch; }
    [[nodiscard]] lane& my_lane() const noexcept { return lane_; }

   private:
    lane& lane_;
};

}  // namespace hf
