// capture.hpp: the end of an epoch on an ordinary disk (medium `file`).
//
// Purpose. Memory is private there, and an epoch reaches the disk whole or not at all. The boundary
// copies the lines of e, the epoch record e + 1 among them, and opens the gate; e is announced when
// the journal has made the copies durable (journal/core.hpp, J1). There is nothing to undo: a
// discipline needs no undo log for the sake of crashes, and a crash leaves no failed epoch. The
// numbers of the running epoch and of those in flight to the disk are not used again after a crash,
// for tickets name them.
//
// Which lines. Those in the lanes' lists, and those in the region's dirty set, which holds the
// lines that were written back early. In a region that tracks pages also those that the tracker
// finds (paging/page_tracker.hpp).
//
// Invariants.
//  K1  A capture is begun and submitted during one closing of the gate: one at a time, in epoch
//      order.
//  K2  The session's first capture holds the epoch record and is applied before any operation
//      starts: from then on the base file records that it needs its journal.
//
// Memory. Captured lines and the process's private copies of pages take memory until the base file
// has them. A little above the budget writers are slowed; far above it, or when one epoch is far
// too large, they wait. Pages are freed at boundaries.
//
// Full disk. The journal refuses (errc::no_space), epochs are not ended, nothing is lost; it goes
// on by itself once there is room.
#pragma once

#include "epoch/boundary.hpp"
#include "epoch/lane.hpp"
#include "epoch/shared_work.hpp"
#include "recovery/journalled_file.hpp"
#include "region/region.hpp"

#include <vector>

namespace hf {

class capture final : public boundary {
   public:
    /// The most epochs that a crash can take from a region of this medium, besides the running one.
    [[nodiscard]] static u64 most_under_way() noexcept;

    capture(region& file, journalled_file& journal, const lanes& all) noexcept
        : region_(file), journal_(journal), lanes_(all) {}
    ~capture() override;

    [[nodiscard]] result<void> start(u64 durable, announcer tell) override;
    [[nodiscard]] result<void> settle() override;
    [[nodiscard]] result<void> finish() override;
    [[nodiscard]] bool captures() const noexcept override;
    void end_epoch(u64 ending) override;
    [[nodiscard]] bool submit(bool waits) override;
    void write_submitted() override;
    void help() override { work_.help(); }

    [[nodiscard]] bool is_ready() const override;
    [[nodiscard]] bool wait_ready() override;
    void let_gather(const std::function<bool()>& enough, std::chrono::nanoseconds since) override;
    [[nodiscard]] bool is_refusing() const noexcept override;
    [[nodiscard]] result<void> accepts_writes() const override;
    [[nodiscard]] bool has_work() const override;
    [[nodiscard]] bool wants_early_end(std::chrono::microseconds age) const override;
    [[nodiscard]] std::optional<std::chrono::microseconds> longest_nap() const override;
    void look() override;
    [[nodiscard]] bool must_settle_first(u64 current) const override;
    [[nodiscard]] bool bounds_writers() const noexcept override { return true; }
    [[nodiscard]] bool writers_are_ahead() const noexcept override;
    void hold_writer(u64 deadline_ns) const override;
    [[nodiscard]] journal_statistics numbers() const override;

   private:
    [[nodiscard]] bool is_overfull() const noexcept;
    void collect_lines();
    void give_memory_back();

    region& region_;
    journalled_file& journal_;
    const lanes& lanes_;
    std::vector<line_chunk> chunks_;
    shared_work work_;
    bool begun_ = false;    ///< K1: between end_epoch() and submit()
    u64 next_look_ns_ = 0;  ///< at the pages written to; the clock's
};

}  // namespace hf
