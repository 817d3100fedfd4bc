// checkpoint/heap/page_heap.hpp: runs of 64 KiB pages that roll back with an epoch.
//
// Purpose. Allocates and frees runs of pages in the region's heap segments, so that a
// crash rolls all of it back to an epoch's start. Rare: once per slab, once per large value. A
// mutex guards it.
//
// On the medium: layout.hpp. A run's first page descriptor tells its use and length; the
// frontier of a segment separates pages that were used at least once from those that never were.
//
// Invariants.
//  H1  Walking a segment from first_usable to the frontier by the lengths of the runs visits every
//      run's first page, at the end of every epoch.
//  H2  A run that was freed in epoch e is allocated again only in a later epoch, and not while it
//      is pinned.
//  H3  Reserved runs that are not committed are durably free: a crash leaks nothing.
//
// The index of free runs (alloc/free_runs.hpp) is volatile. It is built by a walk over the
// descriptors when there is no never used space left, and not at the open, so that an open has the
// same cost for any size.
//
// Without ordinary memory for the index the process ends, as in a crash: callers hold nodes' locks.
// Full region. reserve() grows the region by an eighth of its size (at least 64 MiB, at most 4 GiB,
// or as much as possible); some pages of its maximum are reserved for logs (geometry.hpp). If it
// can't grow, the error is returned and nothing has changed.
#pragma once

#include "alloc/free_runs.hpp"
#include "base/damage.hpp"
#include "checkpoint/heap/layout.hpp"
#include "checkpoint/operation.hpp"
#include "persist/persist_point.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

namespace hf {

/// Creates a heap in the first heap segment of a new region, durably. Returns the offset of
/// `founding` in its root, zeroed. errc::corrupt: the region has no room for it.
[[nodiscard]] result<u64> format_heap(region& r);
/// As format_heap(), in format 1: for tests.
[[nodiscard]] result<u64> format_heap_1(region& r);

class page_heap {
   public:
    explicit page_heap(checkpoint_state& c) : checkpoint_(c) {}

    /// Finds the segments and rolls their frontiers back. Called before the session starts.
    [[nodiscard]] result<void> recover();

    /// Reserves `pages` contiguous free pages; durably they stay free. Returns the offset
    /// of the first. errc::corrupt: a descriptor is damaged.
    [[nodiscard]] result<u64> reserve(operation& op, u64 pages) noexcept(!crashes_throw);
    /// Before the region grows, may_grow() is called without a lock; if it returns false, reserve()
    /// fails with errc::no_space. Call it before the first operation.
    void before_growth(std::function<bool()> may_grow) { may_grow_ = std::move(may_grow); }
    /// Turns a reservation into a durable run; op may be of a later epoch than the reservation's.
    void commit(operation& op, u64 offset, const page_run& run);
    /// Cancels a reservation.
    void cancel(u64 offset, u64 pages) noexcept(!crashes_throw);
    /// Frees a committed run of `pages` pages; they can be reserved again in a later epoch.
    void release(operation& op, u64 offset, u64 pages) noexcept(!crashes_throw) {
        release(op.my_lane(), op.failed(), offset, pages);
    }
    /// As release(), with the world stopped, by the lane passed to that callback.
    void release(lane& l, const failed_set& failed, u64 offset, u64 pages) noexcept(!crashes_throw);
    /// Class of the one-page slab that contains a block. Takes no lock.
    [[nodiscard]] u32 class_at(const failed_set& failed, u64 epoch, u64 block) const noexcept;

    /// Number of pages freed in the epoch.
    [[nodiscard]] u64 pending_pages(u64 epoch);

    /// Visits the runs of all segments. Stops when `visit` returns false. Throws damage.
    void walk(const std::function<bool(u64 offset, const page_run&)>& visit);

    /// Restamps descriptors with a failed or an old epoch, with the world stopped. For the
    /// background pass. Throws damage.
    void refresh(lane& l, u64 older_than);

    [[nodiscard]] heap_root& root() noexcept { return *root_; }
    [[nodiscard]] u64 root_offset() const noexcept { return root_offset_; }
    [[nodiscard]] const root_layout& layout() const noexcept { return layout_; }
    /// The lists of all sets, one set after the other.
    [[nodiscard]] std::span<class_lists> all_lists() noexcept {
        return {root_->lists(layout_), layout_.count()};
    }
    /// Pages that were never used.
    [[nodiscard]] u64 untouched_pages();

   private:
    struct pending_run {
        u64 offset;
        u64 pages;
        u64 freed_in;
    };

    /// Reads the descriptors as valid in epoch `current`: a descriptor_reader.
    struct reader {
        const page_heap& heap;
        const failed_set& failed;
        u64 current;
        [[nodiscard]] u64 first_page(const heap_span& s) const noexcept {
            return heap.at(s).first_usable;
        }
        [[nodiscard]] u64 end_page(const heap_span& s) const noexcept {
            return heap.at(s).frontier.get(0);
        }
        [[nodiscard]] page_run run_at(const heap_span& s, u64 page) const noexcept {
            return page_run::unpack(heap.at(s).descriptors()[page].read(failed, current));
        }
    };

    [[nodiscard]] heap_segment& at(const heap_span& s) const noexcept;
    [[nodiscard]] compact_cell& descriptor(u64 offset) const noexcept;
    void write_descriptor(lane& l, const failed_set& failed, u64 offset, const page_run& run);
    /// As walk_runs(), but throws damage if no run can begin there.
    template <class Visit>
    bool walk_span(const reader& words, const heap_span& s, Visit&& visit) const;
    [[nodiscard]] result<u64> find_pages(operation& op, u64 pages);
    [[nodiscard]] u64 find_free_pages(operation& op, u64 pages);
    [[nodiscard]] u64 take_free_run(operation& op, u64 pages);
    [[nodiscard]] u64 take_fresh(operation& op, u64 pages);
    [[nodiscard]] result<void> grow(u64 pages);
    void add_span(const heap_span& s);
    [[nodiscard]] result<void> find_root();
    void return_pending(u64 current);
    void build_index(const failed_set& failed, u64 current);

    checkpoint_state& checkpoint_;
    heap_root* root_ = nullptr;
    u64 root_offset_ = 0;
    root_layout layout_;
    std::mutex mutex_;
    /// Never reallocated: existing elements are read without the lock.
    std::vector<heap_span> spans_;
    std::atomic<std::size_t> known_spans_{0};
    free_runs free_;
    std::vector<pending_run> pending_;
    bool indexed_ = false;
    std::function<bool()> may_grow_;
};

}  // namespace hf
