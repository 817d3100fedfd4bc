// boundary.hpp: what happens to an epoch's lines at its end, and what the medium asks for
// meanwhile.
//
// Purpose. All else about epochs is the same on every medium; this is what differs.
//   write_back.hpp  persistent memory: the lines are written back behind the closed gate, and the
//                   epoch is durable when the gate opens;
//   capture.hpp     medium `file`: the lines are copied behind the closed gate, and the epoch is
//                   durable when the journal has made the copies so, announced by its thread.
// A region of which nothing is to survive has the boundary that does nothing: its epochs are a
// grace period.
//
// What a boundary doesn't override says: this medium keeps up by itself.
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
    /// Is told each epoch that has become durable, in their order; nullopt: an error came or went.
    using announcer = std::function<void(std::optional<u64> epoch)>;

    boundary() = default;
    boundary(const boundary&) = delete;
    boundary& operator=(const boundary&) = delete;
    virtual ~boundary() = default;

    // --- a session; no operation is running ---
    /// The superblock says that the session has begun. `durable`: the newest epoch that is.
    [[nodiscard]] virtual result<void> start(u64 durable, announcer tell);
    /// Everything that was captured is at its place, durably so.
    [[nodiscard]] virtual result<void> settle() { return {}; }
    /// The session is over, all is durable and the superblock says so.
    [[nodiscard]] virtual result<void> finish() { return {}; }

    // --- an epoch's end; the gate is closed ---
    /// True: the boundary copies memory, and announces epochs by itself, later.
    [[nodiscard]] virtual bool captures() const noexcept { return false; }
    /// Does all that needs the world to stand still.
    virtual void end_epoch([[maybe_unused]] u64 ending) {}
    /// The next epoch has its number. Before the gate opens: the next leader may come at once.
    /// `waits`: whoever leads will only wait until the epoch is durable. True: it is to call
    /// write_submitted() next, behind the open gate.
    [[nodiscard]] virtual bool submit([[maybe_unused]] bool waits) { return false; }
    virtual void write_submitted() {}
    /// By those who wait at the gate.
    virtual void help() {}

    // --- pace ---
    /// Whether an epoch could be ended now without waiting for the medium.
    [[nodiscard]] virtual bool is_ready() const { return true; }
    /// Waits until it is; outside of the gate. False: the medium refuses.
    [[nodiscard]] virtual bool wait_ready() { return true; }
    /// Before an epoch is ended for those who wait for it: until it costs nothing to end it, while
    /// more of them gather; not once `enough()`. `since`: how long ago the last one was ended.
    virtual void let_gather(const std::function<bool()>& enough, std::chrono::nanoseconds since);
    /// Whether nothing can be made durable for want of room.
    [[nodiscard]] virtual bool is_refusing() const noexcept { return false; }
    /// errc::no_space while it is so.
    [[nodiscard]] virtual result<void> accepts_writes() const { return {}; }
    /// Whether there is something to do at a boundary besides the lanes' lines.
    [[nodiscard]] virtual bool has_work() const { return false; }
    /// Whether an epoch of that age should end before its time.
    [[nodiscard]] virtual bool wants_early_end(
        [[maybe_unused]] std::chrono::microseconds age) const {
        return false;
    }
    /// After how long the clock should look at wants_early_end() again.
    [[nodiscard]] virtual std::optional<std::chrono::microseconds> longest_nap() const {
        return std::nullopt;
    }
    /// Looks how much the running epoch holds, if nobody tells and it is time for it. By the clock.
    virtual void look() {}
    /// Whether no epoch should end before older ones are at their place; asks for that.
    [[nodiscard]] virtual bool must_settle_first([[maybe_unused]] u64 current) const {
        return false;
    }

    // --- writers ---
    /// Whether writers may ever get ahead of the medium. Constant.
    [[nodiscard]] virtual bool bounds_writers() const noexcept { return false; }
    [[nodiscard]] virtual bool writers_are_ahead() const noexcept { return false; }
    /// Holds a writer up while they are, at most until `deadline_ns` (base/clock.hpp).
    virtual void hold_writer([[maybe_unused]] u64 deadline_ns) const {}

    [[nodiscard]] virtual journal_statistics numbers() const { return {}; }
};

}  // namespace hf
