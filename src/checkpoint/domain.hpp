// domain.hpp: the epochs of one region: clock, barrier, write-back at the boundary, tickets.
//
// Purpose. Execution is cut into epochs (paper 000, sections 3 and 4). Every operation belongs to
// one epoch. At an epoch's end the gate closes, operations drain, the dirty lines of all lanes are
// written back, and the durable epoch counter is increased: only then is the epoch durable and
// announced. The same barrier is the grace period for memory: what was unlinked in epoch e has no
// reader left in e + 1.
//
// Persist order of a boundary, gate closed and all operations out:
//  E1  every line dirtied in e is written back and fenced by whoever wrote it back;
//  E2  then epoch_record := e + 1, written back and fenced;
//  E3  then e is announced (durable_epoch, waiters), and the gate opens for e + 1.
//
// Persist order of an opening, after the external log has been applied (R1 of external_log.hpp):
//  O1  superblock := {failed set with the crashed epoch E, generation + 1, dirty, first epoch E +
//  1};
//  O2  then epoch_record := E + 1. Cut short between the two, the next opening takes the
//  greater of the
//            record and the superblock's first epoch as the one that failed: it had no operation in
//            it.
//
// On the medium `file` memory is private, and an epoch reaches the disk whole or not at all. The
// boundary copies the lines of e, the epoch record e + 1 among them, and opens the gate; e is
// announced when the journal has made the copies durable (journal/core.hpp, J1). There is nothing
// to undo: no external log is written, and a crash leaves no failed epoch. In a region that tracks
// pages the lines of e are those that were named, and those that the tracker finds then.
//
// Concurrency.
//  B1  An operation is inside (lane.inside = 1) from before it loads the state word as open until
//  its end.
//      light_fence()/heavy_fence() between flag and state word on either side: the leader sees the
//      flag or the thread sees the closed gate.
//  B2  Whoever turns the state word from open or due to closed leads. Usually that is a worker that
//  finds an
//      epoch due as it enters: no thread switch lies inside the pause. The clock thread leads when
//      nobody comes.
//  B3  Threads that arrive at the closed gate help to write back, then wait.
//  B4  Threads register by operation, not by existence: idle and ended threads cost one load.
//
// Those who wait for an epoch to become durable agree on one who ends it: group_commit.hpp.
//
// A long piece of work (a scan, a large value) leaves and enters again, so it doesn't hold the
// barrier.
//
// Literature: paper 000; Mao et al., Masstree (EuroSys 2012) for epochs as grace periods.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/histogram.hpp"
#include "checkpoint/failed_set.hpp"
#include "checkpoint/group_commit.hpp"
#include "checkpoint/lane.hpp"
#include "region/region.hpp"
#include "sync/asymmetric_fence.hpp"

namespace hf {

struct domain_options {
    std::chrono::microseconds epoch = std::chrono::milliseconds(64);  ///< 0: no clock
    bool durable = true;  ///< false: epochs are a grace period only (discipline transient)
    unsigned recovery_threads = 0;  ///< that apply the external log; 0: one a processor
};

inline constexpr std::chrono::microseconds shortest_epoch = std::chrono::milliseconds(1);
inline constexpr std::chrono::microseconds longest_epoch = std::chrono::seconds(10);

class operation;

class domain {
   public:
    /// Reads the superblock and the epoch record; changes nothing yet.
    static result<std::unique_ptr<domain>> open(region& r, const domain_options& options);
    /// Stops the clock. Ends no epoch: see close().
    ~domain();
    domain(const domain&) = delete;
    domain& operator=(const domain&) = delete;

    // --- recovery, before start() ---
    /// Whether the region was not closed cleanly.
    [[nodiscard]] bool needs_recovery() const noexcept { return crashed_; }
    /// Applies the external log of the crashed epoch.
    [[nodiscard]] result<void> recover_log();
    /// Begins the session (O1, O2) and lets operations in.
    [[nodiscard]] result<void> start();
    /// From here on epochs end by themselves.
    void start_clock();
    [[nodiscard]] u64 recovered_entries() const noexcept { return recovered_entries_; }
    /// Whether so many crashes have left their epochs that the pass which empties the set must come
    /// before anything else, with the clock still standing. Half of the room is kept for crashes
    /// during such passes.
    [[nodiscard]] bool must_sweep_first() const noexcept;

    // --- epochs ---
    [[nodiscard]] u64 current_epoch() const noexcept {
        return current_.load(std::memory_order_acquire);
    }
    [[nodiscard]] u64 durable_epoch() const noexcept { return commits_.durable(); }
    /// Ends the running epoch now, unless the medium refuses. Not from inside an operation.
    void end_epoch();
    /// Returns once epoch `t` is durable; ends it early (group commit). Not from inside an
    /// operation. errc::no_space: the medium refuses; it may become durable later.
    [[nodiscard]] result<void> wait_durable(u64 t);
    /// errc::no_space while the medium has no room to make anything durable. What is written in
    /// such a time would only pile up in memory.
    [[nodiscard]] result<void> accepts_writes() const;
    /// To be called before a write, outside of an operation: waits while the disk is so far behind
    /// that what is written would take more memory than it may. Not while the medium refuses, nor
    /// without a clock: then the writer may be the one who would end the epoch.
    void slow_writer() const {
        if (region_.dirty() != nullptr && writers_are_ahead()) [[unlikely]]
            wait_for_memory();
    }
    /// To be called before an epoch is ended by hand in a region that tracks pages: waits until the
    /// base has so much that the epoch's lines are not those of all epochs before
    /// (page_tracker.hpp, the ways that name more pages than were written to). Not while the medium
    /// refuses.
    void wait_for_base() const;
    /// Runs `work` with no operation inside, in the running epoch; `work` may note lines in the
    /// lane.
    void with_world_stopped(const std::function<void(lane&)>& work);
    /// Ends the epoch for good and marks the region clean. No operation may be running or follow.
    [[nodiscard]] result<void> close();

    // --- failed epochs ---
    /// The set of failed epochs. Stable while operations run, but for clear_failed().
    [[nodiscard]] const failed_set& failed() const noexcept { return failed_; }
    [[nodiscard]] u64 horizon() const noexcept { return horizon_.load(std::memory_order_acquire); }
    /// Forgets the failed epochs: nothing in the region is stamped with one any more, durably so.
    [[nodiscard]] result<void> clear_failed();
    /// Whether a background pass is due though nothing failed: compact epochs would become
    /// ambiguous.
    [[nodiscard]] bool restamp_due() const noexcept;

    // --- lanes ---
    [[nodiscard]] lane& my_lane();
    /// Runs `work` if lane `index` belongs to no thread; the lane can't be taken meanwhile.
    bool with_idle_lane(u32 index, const std::function<void()>& work);
    [[nodiscard]] bool is_pinned(u64 offset) const noexcept;
    [[nodiscard]] u32 lanes_used() const noexcept {
        return lanes_used_.load(std::memory_order_acquire);
    }
    [[nodiscard]] lane& lane_at(u32 index) noexcept { return *lanes_[index]; }

    [[nodiscard]] region& store() noexcept { return region_; }
    [[nodiscard]] bool durable() const noexcept { return options_.durable; }
    [[nodiscard]] histogram pauses() const;
    [[nodiscard]] u64 last_pause_ns() const noexcept {
        return last_pause_.load(std::memory_order_relaxed);
    }
    /// For how long epochs have waited for the disk, though they were due (medium `file`).
    [[nodiscard]] u64 late_ns() const noexcept { return late_ns_.load(std::memory_order_relaxed); }
    [[nodiscard]] u64 log_entries() const noexcept;
    [[nodiscard]] u64 log_bytes() const noexcept;

   private:
    friend class operation;
    friend struct thread_lanes;

    static constexpr u32 state_open = 0;
    static constexpr u32 state_due = 1;
    static constexpr u32 state_closed = 2;

    domain(region& r, const domain_options& options);
    [[nodiscard]] result<void> start_journal();

    void enter(lane& l) noexcept;
    static void leave(lane& l) noexcept { l.inside.store(0, std::memory_order_release); }
    void wait_at_gate();
    /// Closes the gate and drains it. False: another leader was at it, and has finished.
    bool close_gate();
    void open_gate();
    /// Without memory the process ends, as in a crash: the gate is closed.
    void lead_boundary() noexcept;
    void make_durable(u64 ending);
    void capture(u64 ending);
    void announce(u64 epoch);
    void gather_chunks();
    void work_on_chunks();
    void write_back_all();
    void write_back(const u64* lines, std::size_t count);
    [[nodiscard]] bool wait_for_journal();
    void end_as_promised(u64 t);
    void end_epoch(u64 ending);
    [[nodiscard]] unsigned spins_at_gate() const noexcept;
    [[nodiscard]] bool may_end_epoch() const;
    [[nodiscard]] bool under_pressure(std::chrono::microseconds elapsed) const;
    [[nodiscard]] result<void> end_epoch_for_sure();
    [[nodiscard]] std::chrono::microseconds longest_nap() const;
    void help_write_back();
    void give_memory_back();
    [[nodiscard]] bool writers_are_ahead() const noexcept {
        return is_overfull() || region_.copies()->is_over_budget();
    }
    [[nodiscard]] bool is_overfull() const noexcept {
        return region_.dirty()->is_overfull() ||
               (region_.tracker() != nullptr && region_.tracker()->is_overfull());
    }
    void look_at_pages();
    [[nodiscard]] bool must_apply_first() const;
    void wait_for_memory() const;
    void run_clock();
    [[nodiscard]] bool anything_written() const noexcept;
    lane& bind_lane();
    static void forget(u64 id);
    void release_lane(lane& l);
    lane& make_lane(u32 index);

    region& region_;
    domain_options options_;
    u64 id_;
    bool crashed_ = false;
    u64 crashed_epoch_ = 0;
    u64 recovered_entries_ = 0;
    bool started_ = false;
    failed_set failed_;

    alignas(64) std::atomic<u32> state_{state_open};
    std::atomic<u64> current_{0};
    std::atomic<u64> horizon_{0};
    group_commit commits_;
    std::atomic<u64> last_boundary_ns_{0};
    std::atomic<u64> last_pause_{0};
    std::atomic<u64> late_ns_{0};
    u64 next_look_ns_ = 0;  ///< at the pages written to; the clock's

    // Write-back work: the chunks, and [phase 24 | chunks 20 | next 20] in one word, so that a late
    // helper never takes a chunk of another phase.
    struct chunk {
        const u64* lines;
        std::size_t count;
    };
    std::vector<chunk> chunks_;
    journal::capture* capturing_ = nullptr;  ///< the chunks are lines to copy, not to write back
    std::atomic<u64> work_{0};
    std::atomic<u64> work_done_{0};
    u64 phase_ = 0;

    std::array<std::unique_ptr<lane>, max_lanes> lanes_;
    std::array<bool, max_lanes> lane_owned_{};
    std::atomic<u32> lanes_used_{1};
    std::mutex lanes_mutex_;
    std::condition_variable lane_free_;

    mutable std::mutex pause_mutex_;
    histogram pauses_;

    std::mutex clock_mutex_;
    std::condition_variable clock_wake_;
    bool stopping_ = false;
    std::thread clock_;
};

namespace detail {
inline const failed_set no_failed_epochs;
}

/// One operation: inside an epoch from construction to destruction. They don't nest.
class operation {
   public:
    explicit operation(domain& d) : operation(d, d.my_lane()) {}
    operation(domain& d, lane& l) noexcept : domain_(d), lane_(l) {
        d.enter(l);
        horizon_ = d.horizon_.load(std::memory_order_relaxed);
    }
    ~operation() { domain::leave(lane_); }
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    [[nodiscard]] u64 epoch() const noexcept { return lane_.epoch; }
    /// Stamps below it may be of failed epochs.
    [[nodiscard]] u64 horizon() const noexcept { return horizon_; }
    [[nodiscard]] const failed_set& failed() const noexcept {
        return horizon_ != 0 ? domain_.failed_ : detail::no_failed_epochs;
    }
    [[nodiscard]] lane& my_lane() const noexcept { return lane_; }
    [[nodiscard]] domain& my_domain() const noexcept { return domain_; }

   private:
    domain& domain_;
    lane& lane_;
    u64 horizon_ = 0;
};

namespace detail {
struct lane_cache {
    u64 domain_id = 0;
    lane* bound = nullptr;
};
inline thread_local constinit lane_cache my_lane_cache{};
}  // namespace detail

inline lane& domain::my_lane() {
    if (detail::my_lane_cache.domain_id == id_) [[likely]]
        return *detail::my_lane_cache.bound;
    return bind_lane();
}

inline void domain::enter(lane& l) noexcept {
    for (;;) {
        l.inside.store(1, std::memory_order_relaxed);
        light_fence();
        if (state_.load(std::memory_order_acquire) == state_open) [[likely]]
            break;
        l.inside.store(0, std::memory_order_release);
        wait_at_gate();
    }
    l.epoch = current_.load(std::memory_order_relaxed);
}

}  // namespace hf
