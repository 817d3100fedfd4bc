// eager/space.hpp: a region of the discipline `eager`: its heap, grace periods and recovery.
//
// Purpose. The state that all eager indexes of a region share. open() runs the recovery driver and
// opens the caller's structures in its phase `discipline`:
//
//     header:        the region is opened; on the medium `file` its epochs are read
//     allocator:     the heap reads which runs of pages there are
//     discipline:    the session (O1), then the structures: roots are found or created
//     verification:  the sweep, unless it runs concurrently with operations
//     service:       the sweep's thread; the epochs' clock
//
// On the medium `file` data becomes durable by a sync only, so operations are made durable in
// groups: each passes the gate of the region's epochs and belongs to one epoch
// (epoch/epoch_manager.hpp). Lines that it flushes are added to the epoch's dirty lines, and its
// fences do nothing. The epoch's end waits for the operations inside, and the journal makes the
// lines durable. After a crash memory is as it was at the end of an epoch: no operation half done,
// no lock held.
//
// On the medium. The superblock's generation, its clean flag (set by a clean close), and the record
// count of that close (eager_area.hpp). The region's roots point to the structures.
//
// Persist order.
//  O1  The superblock's generation is durable before the first lock of that generation is taken.
//  On the medium `file` the order of an index holds in memory only, and whole epochs become durable
//  (journal J0 to J5). Each store belongs to one: an operation's, or that of run_in_epoch() (for
//  code that frees memory outside of operations: the sweep, reclaim(), close()), except those
//  during recovery, before the clock starts. Otherwise a line could be captured while it is stored
//  to, and a page be evicted with a store that is not recorded yet (private_pages.hpp, M2).
//
// Recovery. O(pages) of the header's words, then the sweep (garbage collection), which reads every
// node once, and no record. With `sweeping::in_background`, operations run concurrently with it and
// allocate from fresh pages. The sweep also runs after a clean close, which writes no free lists.
// Every step may be interrupted and repeated.
//
// If the process was killed but the machine did not restart, stores that it had not flushed are
// still in the caches, visible to all and lost at a later power failure. So the sweep makes
// everything it traces durable before it frees anything (swept_heap.hpp, S3). Until it has ended,
// an operation that follows a link under a stale lock records the link's line (node_lock.hpp); an
// index with volatile locks asks is_after_a_kill() and records every line.
//
// Full disk. The journal is out of space (epoch/capture.hpp); accepts_writes() returns the error.
//
// Bad input. A region of another discipline, or a damaged one: an error that says so. The baseline
// `transient` is not available on the medium `file` (errc::medium), where nothing would write its
// lines to the disk.
#pragma once

#include "alloc/swept_heap.hpp"
#include "eager/grace.hpp"
#include "epoch/epoch_manager.hpp"
#include "recovery/driver.hpp"
#include "recovery/opening.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace hf {

inline constexpr layout::room_format eager_format{"eager", 1};

enum class sweeping : u8 {
    at_opening,     ///< before the first operation
    in_background,  ///< by a background thread, concurrently with operations
    by_hand,        ///< by eager_space::sweep(), which the caller calls
};

struct eager_options {
    region_options region;
    sweeping sweep = sweeping::at_opening;
    unsigned sweep_threads = 1;
    /// On the medium `file`: the length of an epoch; no_clock: only wait_durable() ends one.
    std::chrono::microseconds epoch = epoch_options{}.epoch;
};

class eager_space {
   public:
    /// Opens the structures in the region: finds or creates their roots, and calls add_structure().
    using structures = std::function<result<void>(eager_space&)>;

    /// region.kind is eager, or transient (which must be a new one).
    [[nodiscard]] static result<std::unique_ptr<eager_space>> open(
        const std::filesystem::path& path, const eager_options& options,
        std::span<const layout::room_format> rooms, const structures& open_structures);
    /// Creates a space in anonymous memory.
    [[nodiscard]] static result<std::unique_ptr<eager_space>> create_volatile(
        u64 bytes, const eager_options& options, const structures& open_structures);
    /// Without close() first, the next open() recovers as after a crash.
    ~eager_space();
    eager_space(const eager_space&) = delete;
    eager_space& operator=(const eager_space&) = delete;

    [[nodiscard]] region& file() const noexcept { return *opened_.file; }
    [[nodiscard]] swept_heap& heap() const noexcept { return *heap_; }
    [[nodiscard]] grace_periods& grace() const noexcept { return *grace_; }
    [[nodiscard]] eager_lane& my_lane() { return grace_->my_lane(); }
    [[nodiscard]] u32 generation() const noexcept { return generation_; }
    /// True if the last process was killed, and the sweep has not yet made durable the stores that
    /// it left in the caches.
    [[nodiscard]] bool is_after_a_kill() const noexcept {
        return is_after_a_kill_.load(std::memory_order_acquire);
    }

    // --- the medium `file`; on other media everything is durable, and the epoch is 0 ---
    /// nullptr: an operation is durable when it ends.
    [[nodiscard]] epoch_manager* epochs() const noexcept { return epochs_.get(); }
    /// Enters the running epoch. Returns the thread's lane; lines recorded there become durable
    /// with the epoch.
    [[gnu::cold]] [[nodiscard]] lane& enter_epoch();
    [[gnu::cold]] static void leave_epoch(lane& mine) noexcept;
    /// Runs work() within an epoch. Must not be called inside an operation.
    void run_in_epoch(const std::function<void()>& work);
    /// The epoch of this thread's last operation.
    [[nodiscard]] u64 last_epoch() const { return epochs_ ? epochs_->my_lane().epoch : 0; }
    [[nodiscard]] u64 current_epoch() const noexcept {
        return epochs_ ? epochs_->current_epoch() : 0;
    }
    [[nodiscard]] u64 durable_epoch() const noexcept {
        return epochs_ ? epochs_->durable_epoch() : 0;
    }
    /// Returns when all operations of that epoch are durable. Must not be called inside an
    /// operation.
    [[nodiscard]] result<void> wait_durable(u64 epoch) {
        return epochs_ ? epochs_->wait_durable(epoch) : result<void>{};
    }
    /// Call before a write, outside of an operation: waits while too many epochs wait for the disk.
    /// Fails with errc::no_space if the journal has no room.
    [[nodiscard]] result<void> accepts_writes() const {
        if (!epochs_) [[likely]] {
            return {};
        }
        epochs_->slow_writer();
        return epochs_->accepts_writes();
    }

    /// Frees the blocks that this thread and idle threads have retired, after waiting for the
    /// operations that may read them. Must not be called inside an operation.
    void reclaim();

    /// Adds a structure for the sweep to trace; it must outlive the space's operations. One for
    /// each root: opening fails if a root has no structure, because the sweep would free everything
    /// reachable from it.
    void add_structure(traced& t) { structures_.push_back(&t); }
    /// Finds all free memory. Concurrent with operations; at most once per opening.
    [[nodiscard]] result<swept_heap::sweep_figures> sweep(unsigned threads = 1);
    /// Waits for the background sweep, if there is one.
    [[nodiscard]] result<void> wait_for_sweep();
    /// Figures of the completed sweep; zeros before.
    [[nodiscard]] const swept_heap::sweep_figures& last_sweep() const noexcept { return swept_; }
    [[nodiscard]] std::vector<step_time> opening_report() const { return report_; }
    /// Number of epochs that recovery read from a journal.
    [[nodiscard]] u64 recovered_records() const noexcept { return opened_.recovered_records; }

    /// Number of records when the space was opened; nullopt: unknown.
    [[nodiscard]] std::optional<u64> records_at_opening() const noexcept {
        return records_at_opening_;
    }

    /// Marks the region clean. No operation may run during the call or after it. `records`: the
    /// record count to store for the next session, if the caller knows it.
    [[nodiscard]] result<void> close(std::optional<u64> records = {});

   private:
    explicit eager_space(opened_region opened);
    [[nodiscard]] result<void> bring_up(const eager_options& options,
                                        const structures& open_structures);
    [[nodiscard]] result<void> read_epochs(std::chrono::microseconds length);
    [[nodiscard]] result<std::optional<u64>> epochs_lost_before() const;
    [[nodiscard]] result<void> begin_session();
    [[nodiscard]] u64 roots() const noexcept;
    [[nodiscard]] result<void> check_all_are_open() const;

    opened_region opened_;
    std::unique_ptr<epoch_manager> epochs_;
    std::unique_ptr<swept_heap> heap_;
    std::unique_ptr<grace_periods> grace_;
    std::vector<traced*> structures_;
    std::optional<u64> records_at_opening_;
    u32 generation_ = 1;
    std::atomic<bool> is_after_a_kill_{false};
    std::vector<step_time> report_;
    swept_heap::sweep_figures swept_;  // written by the sweeper's thread until it has ended
    std::thread sweeper_;
    std::optional<error> sweep_error_;  // written by the sweeper's thread until it has ended
};

}  // namespace hf
