// eager/grace.hpp: epoch-based reclamation of unlinked memory. (The house reserves the word "epoch"
// for durability, so it is called grace periods here.)
//
// Purpose. An operation runs between enter() and leave() of its thread's lane. A block that it
// unlinks may still be read by operations that were running then, but not by later ones. So the
// block is retired: it is freed to the heap after all those operations have left.
//
//   lane of a thread:  | inside: odd | retired ... | batch, waits for (lane, count) ... | batch |
//
// A lane's counter `inside` is incremented at entry and at exit, so it is odd during an operation.
// Closing a batch of retired blocks issues a heavy fence and reads the counters of all lanes: the
// batch waits until each counter that was odd has changed. No thread blocks; a batch that cannot be
// freed yet is checked again when the next batch is closed.
//
// A batch is closed when it has 256 blocks, or 1 MiB of them. So an idle thread keeps little, and
// when memory is short, other threads take it (take_from_idle()).
//
// Invariants.
//  G1  A freed block was unlinked durably (callers retire after their last fence), and every
//      operation that began before it was retired has ended.
//  G2  A lane's lists and its cache are used by its thread, or by the one thread that takes from
//      it, which has found it outside of an operation after it set `wanted`. The lane's thread
//      checks `wanted` in its operation, before it uses them, and waits. Outside of operations it
//      takes `lock`.
// Memory order: quiescence.hpp. enter() ends with a light fence, closing a batch begins with a
// heavy one: either the closer sees the reader inside, or the reader sees the unlinked state.
// Cost. enter() and leave() each store once to a cache line of the thread's own.
//
// Literature. Fraser, "Practical lock freedom", 2004 (epochs); Hart et al., "Performance of memory
// reclamation for lockless synchronization", JPDC 2007.
#pragma once

#include "alloc/swept_heap.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/spin_lock.hpp"
#include "sync/thread_slots.hpp"

#include <atomic>
#include <deque>
#include <mutex>
#include <vector>

namespace hf {

class grace_periods;

/// One thread's state.
class alignas(line_size) eager_lane {
   public:
    void enter() noexcept {
        inside_.store(inside_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        light_fence();
    }
    void leave() noexcept {
        inside_.store(inside_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    /// enter() and leave() for a caller that knows that a light fence is free here
    /// (asymmetric_fence.hpp). The caller passes the count from one to the other; no other thread
    /// stores it.
    [[nodiscard, gnu::always_inline]] u64 enter_quickly() noexcept {
        const u64 count = inside_.load(std::memory_order_relaxed) + 1;
        inside_.store(count, std::memory_order_relaxed);
        free_light_fence();
        return count;
    }
    [[gnu::always_inline]] void leave_quickly(u64 count) noexcept {
        inside_.store(count + 1, std::memory_order_release);
    }
    [[nodiscard]] bool is_inside() const noexcept {
        return (inside_.load(std::memory_order_relaxed) & 1) != 0;
    }
    /// Frees a block of `bytes` bytes after the last operation that may read it has ended. True: it
    /// is time to call reclaim().
    [[nodiscard]] bool retire(u64 offset, u64 bytes) {
        keep_for_me();
        retired_.push_back(offset);
        retired_bytes_ += bytes;
        return retired_.size() >= batch_size || retired_bytes_ >= batch_bytes;
    }
    /// The thread's free blocks. Within an operation only.
    [[nodiscard]] swept_heap::cache& blocks() noexcept {
        keep_for_me();
        return blocks_;
    }

   private:
    friend class grace_periods;
    static constexpr std::size_t batch_size = 256;
    static constexpr u64 batch_bytes = u64{1} << 20;
    struct waited_for {
        u32 lane;
        u64 count;
    };
    struct batch {
        std::vector<u64> offsets;
        std::vector<waited_for> waits;
    };

    /// Moves all blocks that wait for a grace period to `to`.
    void move_retired(std::vector<u64>& to);
    /// G2: enter() and a light fence came before this load.
    void keep_for_me() const noexcept {
        if (!wanted_.load(std::memory_order_acquire)) [[likely]] {
            return;
        }
        backoff pause;
        while (wanted_.load(std::memory_order_acquire)) pause.wait();
    }

    std::atomic<u64> inside_{0};
    std::atomic<bool> wanted_{false};  ///< by a thread that takes from idle lanes
    spin_lock lock_;
    swept_heap::cache blocks_;
    std::vector<u64> retired_;
    u64 retired_bytes_ = 0;
    std::deque<batch> batches_;
};

class grace_periods {
   public:
    static constexpr u32 most_lanes = 256;

    explicit grace_periods(swept_heap& h)
        : heap_(h), lanes_(0, most_lanes, [](u32) { return std::make_unique<eager_lane>(); }) {
        h.when_short([this] { take_from_idle(nullptr); });
    }

    [[nodiscard]] eager_lane& my_lane() { return lanes_.mine(); }
    /// Frees the batches whose grace period is over. The lane must be outside of an operation.
    void reclaim(eager_lane& mine);
    /// Gives the cached blocks of all lanes that are outside of operations to the heap. `retired`:
    /// also moves there what they have retired, to be freed after a grace period (wait()).
    void take_from_idle(std::vector<u64>* retired);
    /// Frees blocks that take_from_idle() returned, after wait(), into the lane's cache and then
    /// the heap's lists. The lane must be outside of an operation.
    void free_taken(eager_lane& mine, const std::vector<u64>& retired);
    /// Waits until all operations that are running now have ended. Must be called outside of one.
    void wait() const;
    /// Frees everything that was retired. No operation may be running.
    void reclaim_all();
    /// visit(offset) for all blocks that are retired and not freed. No operation may be running.
    void each_retired(const std::function<void(u64)>& visit) const;
    [[nodiscard]] std::vector<const swept_heap::cache*> caches() const;

   private:
    [[nodiscard]] u64 count_of(u32 lane) const noexcept {
        return lanes_.at(lane).inside_.load(std::memory_order_acquire);
    }
    [[nodiscard]] bool is_over(eager_lane::batch& b) const;
    void close_batch(eager_lane& mine) const;

    swept_heap& heap_;
    thread_slots<eager_lane> lanes_;
    std::mutex taking_;  // one thread at a time takes from idle lanes
};

}  // namespace hf
