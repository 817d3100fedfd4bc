// checkpoint/heap/list_heap.hpp: the durable size-class allocator of checkpointing (Cohen et al.,
// ASPLOS 2019, section 5): the rolled-back policy over the geometry of alloc/.
//
// Purpose. Blocks for nodes and values whose allocation and release roll back to an epoch's start
// by themselves, without flushes or fences: free lists linked through 16-byte block
// headers (compact_cell), list heads per set and class in one cache line (logged_group).
//
//   set i, class c:    free ──> B ──> B ──> B        allocated from here
//                      pending ──> B ──> B           freed in this epoch: reusable in the next one
//                      bump ──> never used rest of a slab
//   set 0, class c:    as set i, but shared, under a lock: surplus of sets that free more than they
//                      allocate
//
// Each lane has a set of its own. In a small region, where these would take too much space, lanes
// share sets. The last set is also where the blocks of emptied slabs wait (slab_sweep.hpp, W5).
//
// Invariants.
//  A1  A block is allocated, or in exactly one list, or after a bump pointer, at the end of every
//      epoch.
//  A2  A block freed in epoch e goes to `pending` and is not allocated before e has ended: its
//      bytes, which a crash in e restores, stay unchanged; and no reader of e can find a
//      reused block (the boundary is a grace period, gate.hpp B1).
//  A3  A block's header changes only when it is freed, as the last of a list that is joined to
//      another, or when the block after it is removed with its slab (slab_sweep.hpp). An allocation
//      does not change it: the list heads are logged, so a rollback finds the chain unchanged.
//  A4  Blocks allocated in e need no log: a crash in e makes them free again, and free
//      memory has no contents. The code that fills them records all their lines as dirty.
//
// Persist order: none beyond the in-line order of the two building blocks; the boundary flushes the
// rest (L1).
//
// Recovery. recover() rolls the list heads back, a fixed number of lines for any size of region.
// Headers are read through their logs as long as a failed epoch is remembered; the background
// pass restamps them.
//
// Concurrency. A set belongs to the owner of its lane; if several lanes share it, or it is the last
// one, to the owner of its lock. The lists of set 0 belong to the owners of their locks, which are
// taken last.
//
// Full region. allocate() and reserve_large() return the error of the growth that failed; nothing
// has changed. give_back_slabs() then frees empty slabs for any use, and gives what idle threads
// have freed to all; begin_emptying() chooses sparsely used slabs, whose payloads the caller moves;
// and if that does not suffice, let_larger_stand_in() lets a smaller payload take a larger block.
// After sweep_before_growth() they return errc::no_space also where the region could grow, but a
// sweep is likely to find as much.
//  A5  A block is freed to the lists of its slab's class. That is its payload's class, or,
//      after the first larger block was used for a smaller payload, the class in the slab's
//      descriptor. The heap's root records that this may happen, in the epoch of the first such
//      allocation (its line is recorded as dirty, so both are durable or neither is; it is not
//      undone with the epoch, and need not be). In a larger block the payload
//      may begin later, so that it begins 16 bytes into a line: the block is found by its slab.
//
// The logging of list changes is a parameter: list_logs.hpp. Without logs this is the
// transient heap, with the same lists and the same grace period.
#pragma once

#include "base/damage.hpp"
#include "checkpoint/heap/list_logs.hpp"
#include "checkpoint/heap/page_heap.hpp"
#include "sync/spin_lock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace hf {

template <class Logs>
class slab_sweep;

template <class Logs>
class list_heap {
   public:
    static constexpr bool is_in_region = true;

    explicit list_heap(checkpoint_state& c) : checkpoint_(c), pages_(c) {}

    /// Rolls the list heads back. Called before the session starts.
    [[nodiscard]] result<void> recover();

    /// Allocates a block with room for `payload` bytes (not large). Returns the offset of the
    /// payload, 16 bytes into a line if the block's size is a multiple of 64. errc::corrupt: a list
    /// has an invalid entry.
    [[nodiscard]] result<u64> allocate(operation& op, u64 payload);
    /// Frees a block or an extent; `payload` as at its allocation.
    void deallocate(operation& op, u64 offset, u64 payload);
    /// Prefetches the header that deallocate() will change.
    void prefetch_header(u64 offset) const noexcept { __builtin_prefetch(header_of(offset), 1); }

    /// Reserves space for a large payload (is_large). It may be filled outside of operations, and
    /// must then be committed (with its bytes durable) or cancelled.
    [[nodiscard]] result<u64> reserve_large(operation& op, u64 payload);
    void commit_large(operation& op, u64 offset, u64 payload);
    void cancel_large(u64 offset, u64 payload) {
        pages_.cancel(offset - block_header_size, extent_pages(payload));
    }

    /// Frees slabs without allocated blocks (slab_sweep.hpp). Call it outside of
    /// operations: it stops the world. Returns the pages freed in this epoch, by this and
    /// otherwise; the next epoch can use them. `has_moved`: the caller has emptied chosen slabs, so
    /// the sweep pays; otherwise it does nothing if too little has been freed since the last one.
    [[nodiscard]] u64 give_back_slabs(bool has_moved = false);
    /// True if the last give_back_slabs() moved free blocks of some set to the shared one.
    [[nodiscard]] bool has_gathered() const noexcept { return gathered_; }
    /// From now on the region grows only if a sweep would hardly pay: for callers that call
    /// give_back_slabs() after errc::no_space, and try again in the next epoch. Call it before the
    /// first operation.
    void sweep_before_growth() {
        pages_.before_growth([this] { return !sweep_pays(); });
    }

    /// Chooses sparsely used slabs, so that free blocks of other slabs suffice for all payloads in
    /// them. Until end_emptying() nothing is allocated in them, and what is freed in them is
    /// allocatable in no slab. The caller moves the payloads of which is_emptied() is true; then
    /// give_back_slabs() frees the slabs. Slabs of the class of `fixed_payload` are not chosen.
    /// Returns their pages; 0: there are none. Call it outside of operations: it stops the world.
    [[nodiscard]] u64 begin_emptying(u64 fixed_payload);
    void end_emptying();
    /// Whether the payload at this offset is in a chosen slab. Call it inside of an operation.
    [[nodiscard]] bool is_emptied(u64 offset) const noexcept {
        const u64 page = offset / page_size;
        return some_emptied_.load(std::memory_order_relaxed) && page < emptied_.size() &&
               emptied_[page];
    }

    /// For some epochs larger blocks may be allocated when the region is full.
    /// Call it outside of operations: it stops the world.
    void let_larger_stand_in();

    /// Bytes of allocated blocks with headers, by class; the last entry counts extents.
    [[nodiscard]] std::array<u64, accounted_classes> usage();

    /// Bytes of slabs that are not in allocated blocks.
    [[nodiscard]] u64 idle_bytes();

    /// Number of blocks freed, and of objects removed, in this session.
    [[nodiscard]] u64 freed();
    [[nodiscard]] u64 removed();

    /// Adds to the count of objects of the structure in this heap, after a change (negative:
    /// removals). Rolls back with the epoch.
    void count_objects(operation& op, std::int64_t difference);
    [[nodiscard]] u64 objects();
    /// True if objects() is valid. It is not in a heap older than the count; there, after a
    /// count_objects() that corrects it, objects_are_counted() makes it valid.
    [[nodiscard]] bool counts_objects() noexcept { return pages_.root().counts_objects == 1; }
    /// Call it outside of operations: it stops the world.
    void objects_are_counted();

    /// Restamps headers and descriptors with a failed epoch, or one below `older_than`.
    /// For the background pass: stops the world for one batch at a time.
    void refresh(u64 older_than, const std::function<bool()>& cancelled);

    [[nodiscard]] page_heap& pages() noexcept { return pages_; }
    [[nodiscard]] checkpoint_state& checkpoint() noexcept { return checkpoint_; }
    /// The base of payload offsets.
    [[nodiscard]] std::byte* base() const noexcept { return checkpoint_.file().base(); }
    /// Size of the block for a payload, header included. Not for large payloads.
    [[nodiscard]] u64 block_for(u64 payload) const noexcept {
        return block_size(class_for(payload));
    }
    /// Upper bound of all blocks: the region's size.
    [[nodiscard]] u64 end() const noexcept { return checkpoint_.file().size(); }
    /// Number of sets of lists; set 0 is shared by all.
    [[nodiscard]] u32 set_count() const noexcept { return static_cast<u32>(pages_.layout().sets); }
    [[nodiscard]] class_range classes() const noexcept { return pages_.layout().classes; }
    [[nodiscard]] u32 set_of_lane(u32 lane) const noexcept {
        if (lane == 0 || !sets_are_shared_) return lane;
        const u32 for_lanes = set_count() - 1 - (may_empty() ? 1 : 0);
        return 1 + (lane - 1) % for_lanes;
    }
    /// The set in which the free blocks of emptied slabs wait. Only the last lane uses it, too, in
    /// a heap with a set for each.
    [[nodiscard]] u32 waiting_set() const noexcept { return set_count() - 1; }
    [[nodiscard]] class_lists& lists(u32 set, u32 size_class) noexcept {
        const u32 in_set = size_class == extent_class ? classes_in(classes()) : size_class;
        return pages_.all_lists()[u64{set} * pages_.layout().lists_in_set() + in_set];
    }
    /// The block after `block` in its list; both are offsets of headers.
    [[nodiscard]] u64 next_block(u64 block, const failed_set& failed, u64 current) const noexcept {
        return cell_at(block).read(failed, current) << 4;
    }

   private:
    friend class slab_sweep<Logs>;

    static constexpr u32 pool_batch = 64;
    static constexpr u64 surplus = 4096;

    /// Volatile data about a set's lists.
    struct remembered {
        u64 pending_tail = 0;  ///< 0: unknown
        u64 free_count = 0;
        u64 pending_count = 0;
    };
    struct list_set {
        class_lists* lists = nullptr;  ///< by class
        bool is_shared = false;        ///< by threads: the owner of the lock may use it
        spin_lock lock;
        // In this session; stored by the set's owner.
        std::atomic<u64> freed{0};    ///< blocks
        std::atomic<u64> removed{0};  ///< objects
        std::array<remembered, block_classes> of_class{};
    };

    [[nodiscard]] compact_cell& cell_at(u64 block) const noexcept {
        return *object_at<compact_cell>(base(), block);
    }
    [[nodiscard]] const void* header_of(u64 payload_offset) const noexcept {
        return object_at<const void>(base(), payload_offset - block_header_size);
    }
    [[nodiscard]] list_set& set_of(const lane& l) noexcept {
        list_set* const mine = set_of_lane_[l.index];
        return mine != nullptr ? *mine : bind(l);
    }
    /// Ends the process if memory is exhausted, as in a crash, since callers hold nodes' locks.
    [[gnu::noinline]] list_set& bind(const lane& l) noexcept {
        return *(set_of_lane_[l.index] = &made(set_of_lane(l.index)));
    }
    [[nodiscard]] list_set& made(u32 set) noexcept;
    /// Hold the result as long as the set is used.
    [[nodiscard]] std::unique_lock<spin_lock> use(list_set& s) const {
        return s.is_shared ? std::unique_lock(s.lock) : std::unique_lock<spin_lock>();
    }
    /// Whether there is a set for the blocks of emptied slabs beside those of lanes.
    [[nodiscard]] bool may_empty() const noexcept { return set_count() > 2; }
    [[nodiscard]] u32 class_for(u64 payload) const noexcept {
        return class_of_block(payload + block_header_size, classes());
    }

    template <class Inside>
    bool begin_group(Inside& op, class_lists& g);
    void begin(operation& op, u32 size_class, class_lists& g, remembered& m);
    void count(class_lists& g, std::int64_t difference) noexcept;
    void set_next(operation& op, u64 block, u64 next);
    /// Throws damage unless it can be the target of a list or bump pointer.
    void check_block(u64 block, u64 bytes) const {
        if (block < page_size || block > end() - bytes || block % block_header_size != 0)
            [[unlikely]] {
            throw damage(block, "a list of free blocks has an entry that cannot be a block");
        }
    }
    [[nodiscard]] u64 pop(operation& op, class_lists& g, u32 size_class);
    [[nodiscard]] result<u64> take(operation& op, u32 size_class);
    [[nodiscard]] result<u64> refill(operation& op, u32 size_class, list_set& set);
    [[nodiscard]] u64 take_made(operation& op, u32 size_class, list_set& set);
    [[nodiscard, gnu::noinline]] u64 take_larger(operation& op, u32 wanted, list_set& set);
    [[nodiscard]] u32 class_of(operation& op, u64& block, u64 payload) const noexcept;
    [[nodiscard]] u64 take_shared(operation& op, u32 size_class, class_lists& g, remembered& m);
    [[nodiscard]] u64 take_batch(operation& op, u32 size_class, class_lists& g, remembered& m);
    void give_shared(operation& op, u32 size_class, class_lists& g, remembered& m);
    [[nodiscard]] u64 take_bump(class_lists& g, u32 size_class);
    [[nodiscard]] u64 adopt_idle(operation& op, u32 size_class, class_lists& g);
    [[nodiscard]] u64 adopt(operation& op, u32 set, u32 size_class, class_lists& g);
    void count_extent(operation& op, std::int64_t pages);
    [[nodiscard]] bool may_sweep(u64 freed_now) const noexcept;
    [[nodiscard]] bool sweep_pays();
    void refresh_slabs(u64 older_than, const std::function<bool()>& cancelled);

    checkpoint_state& checkpoint_;
    page_heap pages_;
    std::array<list_set*, max_lanes>
        set_of_lane_{};  ///< each element used by its lane's owner only
    std::mutex making_;
    std::array<std::unique_ptr<list_set>, max_lanes> sets_;
    bool sets_are_shared_ = false;
    std::array<spin_lock, block_classes> shared_locks_;
    std::atomic<bool> some_stand_in_{false};      ///< blocks may be larger than their payload's
    std::atomic<u64> larger_stand_in_before_{0};  ///< this epoch
    u64 freed_at_stand_in_ = 0;                   ///< changes only while the world is stopped
    std::atomic<bool> some_emptied_{false};       ///< changes only while the world is stopped
    std::vector<bool> emptied_;                   ///< by page; changes only then
    // These change only while the world is stopped, and are read at any time.
    std::atomic<bool> refreshing_{false};
    std::atomic<u64> freed_at_sweep_{0};    ///< blocks that the session had freed before a sweep
    std::atomic<u64> swept_{0};             ///< number of blocks that the last one read
    std::atomic<u64> idle_after_sweep_{0};  ///< idle_bytes() then
    std::atomic<bool> gathered_{false};
};

// -------------------------------------------------------------------------------------- fast path

template <class Logs>
template <class Inside>
inline bool list_heap<Logs>::begin_group(Inside& op, class_lists& g) {
    if (g.lists.epoch.load(std::memory_order_relaxed) == op.epoch()) [[likely]] {
        return false;
    }
    Logs::begin(op, g);
    return true;
}

/// First use of a set's list in an epoch: blocks freed in earlier epochs become allocatable.
template <class Logs>
inline void list_heap<Logs>::begin(operation& op, u32 size_class, class_lists& g, remembered& m) {
    if (!begin_group(op, g)) [[likely]] {
        return;
    }
    const u64 pending = g.lists.get(class_lists::pending);
    if (pending == 0) return;
    if (g.lists.get(class_lists::free) == 0) {
        g.lists.set(class_lists::free, pending);
        m.free_count = m.pending_count;
    } else if (m.pending_tail == 0) {
        return;  // the tail is unknown after an open: the list waits until `free` is empty
    } else if (m.free_count > 2 * m.pending_count + surplus) {
        give_shared(op, size_class, g, m);
    } else {
        set_next(op, m.pending_tail, g.lists.get(class_lists::free));
        g.lists.set(class_lists::free, pending);
        m.free_count += m.pending_count;
    }
    g.lists.set(class_lists::pending, 0);
    m.pending_tail = 0;
    m.pending_count = 0;
}

template <class Logs>
inline void list_heap<Logs>::count(class_lists& g, std::int64_t difference) noexcept {
    const u64 word = g.live.load(std::memory_order_relaxed);
    const u64 now = (word + static_cast<u64>(difference)) & 0xffffffff;
    g.live.store((word & ~u64{0xffffffff}) | now, std::memory_order_release);
}

template <class Logs>
inline void list_heap<Logs>::count_objects(operation& op, std::int64_t difference) {
    list_set& set = set_of(op.my_lane());
    const auto mine = use(set);
    class_lists& g = set.lists[classes_in(classes())];
    begin_group(op, g);
    g.lists.set(class_lists::objects,
                g.lists.get(class_lists::objects) + static_cast<u64>(difference));
    if (difference < 0)
        set.removed.store(set.removed.load(std::memory_order_relaxed) + 1,
                          std::memory_order_relaxed);
}

template <class Logs>
inline void list_heap<Logs>::set_next(operation& op, u64 block, u64 next) {
    Logs::set_next(op, cell_at(block), next);
}

template <class Logs>
inline u64 list_heap<Logs>::pop(operation& op, class_lists& g, u32 size_class) {
    const u64 block = g.lists.get(class_lists::free);
    if (block == 0) return 0;
    check_block(block, block_size(size_class));
    const u64 next = next_block(block, op.failed(), op.epoch());
    g.lists.set(class_lists::free, next);
    __builtin_prefetch(object_at<compact_cell>(base(), next), 1);
    return block;
}

template <class Logs>
inline result<u64> list_heap<Logs>::allocate(operation& op, u64 payload) {
    HF_ASSERT(!is_large(payload), "a large payload is reserved, not allocated");
    try {
        return take(op, class_for(payload));
    } catch (const damage& d) {
        return failure(d.to_error("allocate memory", checkpoint_.file().path()));
    }
}

/// Takes a block from the set's list, or by refill().
template <class Logs>
inline result<u64> list_heap<Logs>::take(operation& op, u32 size_class) {
    list_set& set = set_of(op.my_lane());
    const auto mine = use(set);
    class_lists& g = set.lists[size_class];
    remembered& m = set.of_class[size_class];
    begin(op, size_class, g, m);
    u64 block = pop(op, g, size_class);
    if (block != 0) [[likely]] {
        if (m.free_count != 0) --m.free_count;
    } else {
        auto refilled = refill(op, size_class, set);
        if (!refilled) [[unlikely]] {
            if (refilled.error().code == errc::no_space) block = take_larger(op, size_class, set);
            if (block == 0) return refilled;
            return block + block_header_size;
        }
        block = *refilled;
    }
    count(g, +1);
    return block + block_header_size;
}

/// Finds the class by A5. `block`: the position for the payload's class; adjusted to the real
/// block.
template <class Logs>
inline u32 list_heap<Logs>::class_of(operation& op, u64& block, u64 payload) const noexcept {
    const u32 size_class = class_for(payload);
    if (!some_stand_in_.load(std::memory_order_relaxed) || slab_pages(size_class) != 1) {
        return size_class;
    }
    const u32 of_slab = pages_.class_at(op.failed(), op.epoch(), block);
    if (of_slab >= classes_in(classes()) || slab_pages(of_slab) != 1) return size_class;
    block -= block % page_size % block_size(of_slab);
    return of_slab;
}

template <class Logs>
inline void list_heap<Logs>::deallocate(operation& op, u64 offset, u64 payload) {
    u64 block = offset - block_header_size;
    if (is_large(payload)) [[unlikely]] {
        count_extent(op, -static_cast<std::int64_t>(extent_pages(payload)));
        pages_.release(op, block, extent_pages(payload));
        return;
    }
    const u32 size_class = class_of(op, block, payload);
    const bool waits = is_emptied(block);
    list_set& set = waits ? *sets_[waiting_set()] : set_of(op.my_lane());
    const auto mine = use(set);
    class_lists& g = set.lists[size_class];
    remembered& m = set.of_class[size_class];
    if (waits) [[unlikely]] {
        begin_group(op, g);  // and the list stays `pending`
    } else {
        begin(op, size_class, g, m);
    }
    const u64 head = g.lists.get(class_lists::pending);
    set_next(op, block, head);
    g.lists.set(class_lists::pending, block);
    if (head == 0) m.pending_tail = block;
    ++m.pending_count;
    set.freed.store(set.freed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    count(g, -1);
}

}  // namespace hf

#include "checkpoint/heap/list_heap_slow.hpp"  // IWYU pragma: keep
#include "checkpoint/heap/slab_sweep.hpp"      // IWYU pragma: keep
