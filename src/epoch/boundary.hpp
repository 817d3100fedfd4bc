// boundary.hpp: makes an epoch's lines durable at its end, and paces writers, for one medium.
//
// Purpose. This interface holds the part of the epochs that depends on the medium.
//   write_back.hpp  persistent memory: the lines are written back while the gate is closed, and the
//                   epoch is durable when the gate opens;
//   capture.hpp     medium `file`: the lines are copied while the gate is closed, and the epoch is
//                   durable when the journal has made the copies durable; the journal's thread
//                   announces it.
// A transient region uses this base class, which writes nothing: its epochs are a grace period
// only.
//
// The defaults describe a medium that never delays a writer.
#pragma once

#include <holdfast/result.hpp>
#include <holdfast/statistics.hpp>

#include "base/bits.hpp"
#include "region/region.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace hf {

class boundary {
   public:
    /// Called with each epoch that has become durable, in order; with nullopt when an error begins
    /// or ends.
    using announcer = std::function<void(std::optional<u64> epoch)>;

    boundary() = default;
    boundary(const boundary&) = delete;
    boundary& operator=(const boundary&) = delete;
    virtual ~boundary() = default;

    // --- a session; no operation is running ---
    /// Begins a session, after the superblock was marked dirty. `durable`: the newest durable
    /// epoch.
    [[nodiscard]] virtual result<void> start(u64 durable, announcer tell);
    /// Returns once everything that was captured is durable in the base file.
    [[nodiscard]] virtual result<void> settle() { return {}; }
    /// Ends the session, after the superblock was marked clean.
    [[nodiscard]] virtual result<void> finish() { return {}; }

    // --- an epoch's end; the gate is closed ---
    /// True: the boundary copies memory, and announces epochs by itself, later.
    [[nodiscard]] virtual bool captures() const noexcept { return false; }
    /// Does the work that needs all operations stopped.
    virtual void end_epoch([[maybe_unused]] u64 ending) {}
    /// Called after the next epoch has its number and before the gate opens, for another thread may
    /// lead at once. `waits`: the leader will wait until the epoch is durable. Returns true if the
    /// leader is to call write_submitted() after it has opened the gate.
    [[nodiscard]] virtual bool submit([[maybe_unused]] bool waits) { return false; }
    virtual void write_submitted() {}
    /// Does a part of end_epoch(). Called by threads that wait at the gate.
    virtual void help() {}

    // --- pace ---
    /// Whether an epoch could be ended now without waiting for the medium.
    [[nodiscard]] virtual bool is_ready() const { return true; }
    /// Waits until is_ready(), outside of the gate. False: the medium has no room.
    [[nodiscard]] virtual bool wait_ready() { return true; }
    /// Group commit: delays the end of an epoch while the medium is busy anyway, so that more
    /// threads share it; returns early once `enough()`. `since`: the time since the last epoch's
    /// end.
    virtual void let_gather(const std::function<bool()>& enough, std::chrono::nanoseconds since);
    /// Whether the medium has no room to make an epoch durable.
    [[nodiscard]] virtual bool is_refusing() const noexcept { return false; }
    /// errc::no_space while is_refusing().
    [[nodiscard]] virtual result<void> accepts_writes() const { return {}; }
    /// Whether there is something to do at a boundary besides the lanes' lines.
    [[nodiscard]] virtual bool has_work() const { return false; }
    /// Whether an epoch of that age should end before its time.
    [[nodiscard]] virtual bool wants_early_end(
        [[maybe_unused]] std::chrono::microseconds age) const {
        return false;
    }
    /// After how long the clock should call wants_early_end() again.
    [[nodiscard]] virtual std::optional<std::chrono::microseconds> longest_nap() const {
        return std::nullopt;
    }
    /// Estimates the size of the running epoch, if the medium tracks pages and the last estimate is
    /// old. Called by the clock's thread.
    virtual void look() {}
    /// Whether older epochs must be written to the base file before the next epoch ends; starts
    /// that.
    [[nodiscard]] virtual bool must_settle_first([[maybe_unused]] u64 current) const {
        return false;
    }

    // --- writers ---
    /// Whether writers may ever get ahead of the medium. Constant.
    [[nodiscard]] virtual bool bounds_writers() const noexcept { return false; }
    [[nodiscard]] virtual bool writers_are_ahead() const noexcept { return false; }
    /// Delays a writer while writers_are_ahead(), at most until `deadline_ns` (base/clock.hpp).
    virtual void hold_writer([[maybe_unused]] u64 deadline_ns) const {}

    [[nodiscard]] virtual journal_statistics numbers() const { return {}; }
};

}  // namespace hf
