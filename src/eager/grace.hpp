// eager/grace.hpp: when memory that was unlinked has no reader left.
//
// Purpose. Operations run inside: between enter() and leave() of their thread's lane. What an
// operation unlinks may still be read by those that were inside then, and by nobody who comes
// later. So it is retired: kept until all of those have left, then given back to the heap.
//
//   lane of a thread:  | inside: odd | retired ... | batch, waits for (lane, count) ... | batch |
//
// A lane's `inside` counts its entries and exits. A batch of what was retired is closed by a look
// at all lanes behind a heavy fence: it waits for those that are inside, until their counts are
// others. No thread waits for another; a batch that cannot be freed yet is looked at again when the
// next one is closed.
//
// Invariants.
//  G1  What is freed was unlinked durably (callers retire behind their last fence), and no
//      operation is left that began before it was retired.
// Memory order: quiescence.hpp. enter() ends with a light fence, closing a batch begins with a
// heavy one: so the closer sees the reader inside, or the reader sees the unlinked state.
// Cost. Entering and leaving are a store each to a line of the thread's own.
//
// Literature. Fraser, "Practical lock freedom", 2004 (epochs); Hart et al., "Performance of memory
// reclamation for lockless synchronization", JPDC 2007.
#pragma once

#include "alloc/swept_heap.hpp"
#include "sync/asymmetric_fence.hpp"
#include "sync/thread_slots.hpp"

#include <atomic>
#include <deque>
#include <vector>

namespace hf {

class grace_periods;

/// What one thread brings along.
class alignas(line_size) eager_lane {
   public:
    void enter() noexcept {
        inside_.store(inside_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        light_fence();
    }
    void leave() noexcept {
        inside_.store(inside_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    /// Both for one who knows that a light fence is free here (asymmetric_fence.hpp), and keeps the
    /// count from the one to the other: it is his own, nobody else stores it.
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
    /// To be freed when nobody can be reading it any more.
    void retire(u64 offset) { retired_.push_back(offset); }
    [[nodiscard]] bool is_full() const noexcept { return retired_.size() >= batch_size; }

    swept_heap::cache blocks;

   private:
    friend class grace_periods;
    static constexpr std::size_t batch_size = 256;
    struct waited_for {
        u32 lane;
        u64 count;
    };
    struct batch {
        std::vector<u64> offsets;
        std::vector<waited_for> waits;
    };

    std::atomic<u64> inside_{0};
    std::vector<u64> retired_;
    std::deque<batch> batches_;
};

class grace_periods {
   public:
    static constexpr u32 most_lanes = 256;

    explicit grace_periods(swept_heap& h)
        : heap_(h), lanes_(0, most_lanes, [](u32) { return std::make_unique<eager_lane>(); }) {}

    [[nodiscard]] eager_lane& my_lane() { return lanes_.mine(); }
    /// Of a lane that is outside: frees what can be freed.
    void reclaim(eager_lane& mine);
    /// Until all operations that are running have ended. From outside of one.
    void wait() const;
    /// Nobody is at work: frees all that was retired.
    void reclaim_all();
    /// visit(offset) for all that is retired and not freed. Nobody is at work.
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
};

}  // namespace hf
