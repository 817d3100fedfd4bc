// eager/space.hpp: a region of the discipline `eager`: its heap, its grace periods, its opening.
//
// Purpose. What all eager indexes of a region share. open() is the one way to get it; the caller's
// structures are opened within, in the phase `discipline` of the recovery driver:
//
//     header:        the region is opened; on the medium `file` its epochs are read
//     allocator:     the heap reads which runs of pages there are
//     discipline:    the session (O1), then the structures: roots are found or made
//     verification:  the sweep, unless it is to run beside the operations
//     service:       the sweep's thread; the epochs' clock
//
// On the medium `file` nothing is durable before a sync, so operations are made so in groups: each
// passes the gate of the region's epochs and belongs to one (epoch/epoch_manager.hpp). What it
// flushes there goes to the epoch's dirty lines, its fences do nothing, and the journal makes the
// lines durable at the epoch's end, which waits for the operations that are inside. What comes back
// behind a crash is memory as an epoch ended: no operation was half done, no lock was held.
//
// On the medium. Nothing of its own but the superblock's generation, its clean flag, which a clean
// close sets, and how many records there were then (eager_area.hpp). Structures lie behind roots of
// the region.
//
// Persist order.
//  O1  the superblock's generation is durable before the first lock of it is taken.
//  On the medium `file` the order of an index holds in memory, and what is durable is an epoch,
//  whole (journal J0 to J5). All stores lie within one, an operation's or run_in_epoch()'s (what
//  gives memory back outside of operations: the sweep, reclaim(), close()), but those of an
//  opening, before the clock starts. Otherwise a line could be captured while it is stored to, and
//  a page be given back with a store that nobody has noted yet (private_pages.hpp, M2).
//
// Recovery. O(pages) of the header's words, then the sweep: it reads every node once, and no
// record. `sweeping::in_background` lets operations in before it (they get fresh pages meanwhile).
// Without a crash there is a sweep, too: an orderly close writes no list of what is free.
// Each step may be cut short and runs again.
//
// Behind a kill the machine goes on, and what the dead process had stored and not flushed lies in
// the caches, where everybody sees it, and where a power cut still takes it. So the sweep makes
// durable what it traces, before it frees anything (swept_heap.hpp, S3). Until it has ended, links
// under a lock that a dead holder left are noted by who follows them (node_lock.hpp); an index
// whose locks are volatile asks is_after_a_kill(), and notes all.
//
// Full disk. The journal refuses (epoch/capture.hpp): accepts_writes() says why.
//
// Bad input. Another discipline, damage: an error that says so. The yardstick, `transient`, is not
// on the medium `file` (errc::medium): there is no way by which anything of it gets there.
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
    in_background,  ///< by a thread of its own, beside the operations
    by_hand,        ///< eager_space::sweep(), called by somebody
};

struct eager_options {
    region_options region;
    sweeping sweep = sweeping::at_opening;
    unsigned sweep_threads = 1;
    /// On the medium `file`: how long an epoch lasts; no_clock: wait_durable() ends it.
    std::chrono::microseconds epoch = epoch_options{}.epoch;
};

class eager_space {
   public:
    /// Opens what lies in the region: finds or makes roots, and says add_structure().
    using structures = std::function<result<void>(eager_space&)>;

    /// region.kind says eager, or transient (which must be created anew).
    [[nodiscard]] static result<std::unique_ptr<eager_space>> open(
        const std::filesystem::path& path, const eager_options& options,
        std::span<const layout::room_format> rooms, const structures& open_structures);
    /// Anonymous memory.
    [[nodiscard]] static result<std::unique_ptr<eager_space>> create_volatile(
        u64 bytes, const eager_options& options, const structures& open_structures);
    /// Without close() the next opening finds what a crash leaves.
    ~eager_space();
    eager_space(const eager_space&) = delete;
    eager_space& operator=(const eager_space&) = delete;

    [[nodiscard]] region& file() const noexcept { return *opened_.file; }
    [[nodiscard]] swept_heap& heap() const noexcept { return *heap_; }
    [[nodiscard]] grace_periods& grace() const noexcept { return *grace_; }
    [[nodiscard]] eager_lane& my_lane() { return grace_->my_lane(); }
    [[nodiscard]] u32 generation() const noexcept { return generation_; }
    /// Whether the last process was killed, and the sweep has not made durable yet what it left in
    /// the caches.
    [[nodiscard]] bool is_after_a_kill() const noexcept {
        return is_after_a_kill_.load(std::memory_order_acquire);
    }

    // --- the medium `file`; elsewhere all is durable, and its epoch 0 ---
    /// nullptr: an operation is durable when it ends.
    [[nodiscard]] epoch_manager* epochs() const noexcept { return epochs_.get(); }
    /// An operation begins and ends. The thread's lane of the running epoch: what is noted there
    /// will be durable with it.
    [[gnu::cold]] [[nodiscard]] lane& enter_epoch();
    [[gnu::cold]] static void leave_epoch(lane& mine) noexcept;
    /// Not from inside of an operation.
    void run_in_epoch(const std::function<void()>& work);
    /// Of this thread's last operation.
    [[nodiscard]] u64 last_epoch() const { return epochs_ ? epochs_->my_lane().epoch : 0; }
    [[nodiscard]] u64 current_epoch() const noexcept {
        return epochs_ ? epochs_->current_epoch() : 0;
    }
    [[nodiscard]] u64 durable_epoch() const noexcept {
        return epochs_ ? epochs_->durable_epoch() : 0;
    }
    /// Returns when all operations of that epoch are durable. Not from inside of one.
    [[nodiscard]] result<void> wait_durable(u64 epoch) {
        return epochs_ ? epochs_->wait_durable(epoch) : result<void>{};
    }
    /// To be asked before a write, outside of an operation: waits while the disk is too far behind.
    /// errc::no_space: it has no room.
    [[nodiscard]] result<void> accepts_writes() const {
        if (!epochs_) [[likely]] {
            return {};
        }
        epochs_->slow_writer();
        return epochs_->accepts_writes();
    }

    /// Frees what this thread has retired; waits for the operations that may still be looking at
    /// it. Not from inside of one.
    void reclaim();

    /// It outlives the space's operations, and is traced when the space is swept. One a root: a
    /// region with a root that nobody has added is not opened, as the sweep would free what it
    /// leads to.
    void add_structure(traced& t) { structures_.push_back(&t); }
    /// Finds what is free. Beside operations; at most once an opening.
    [[nodiscard]] result<swept_heap::sweep_figures> sweep(unsigned threads = 1);
    /// Waits for the sweep in the background, if there is one.
    [[nodiscard]] result<void> wait_for_sweep();
    /// Of the sweep that has ended; zeros before.
    [[nodiscard]] const swept_heap::sweep_figures& last_sweep() const noexcept { return swept_; }
    [[nodiscard]] std::vector<step_time> opening_report() const { return report_; }
    /// Epochs that this opening took from a journal.
    [[nodiscard]] u64 recovered_records() const noexcept { return opened_.recovered_records; }

    /// How many records the structures had at this opening; nullopt: nobody knows.
    [[nodiscard]] std::optional<u64> records_at_opening() const noexcept {
        return records_at_opening_;
    }

    /// No operation is running or will come. Marks the region clean. `records`: how many there are,
    /// for the next opening, if the caller has counted.
    [[nodiscard]] result<void> close(std::optional<u64> records = {});

   private:
    explicit eager_space(opened_region opened);
    [[nodiscard]] result<void> bring_up(const eager_options& options,
                                        const structures& open_structures);
    [[nodiscard]] result<void> read_epochs(std::chrono::microseconds length);
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
    swept_heap::sweep_figures swept_;  // the sweeper's until it has ended
    std::thread sweeper_;
    std::optional<error> sweep_error_;  // the sweeper's until it has ended
};

}  // namespace hf
