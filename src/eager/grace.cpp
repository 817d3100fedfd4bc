#include "eager/grace.hpp"

#include "base/check.hpp"
#include "base/lock_order.hpp"

#include <utility>

namespace hf {

void grace_periods::close_batch(eager_lane& mine) const {
    heavy_fence();
    eager_lane::batch made{std::exchange(mine.retired_, {}), {}};
    mine.retired_bytes_ = 0;
    mine.retired_.reserve(eager_lane::batch_size);
    for (u32 i = 0; i < lanes_.used(); ++i) {
        const u64 count = count_of(i);
        if ((count & 1) != 0) made.waits.push_back({i, count});
    }
    mine.batches_.push_back(std::move(made));
}

bool grace_periods::is_over(eager_lane::batch& b) const {
    std::erase_if(b.waits,
                  [&](const eager_lane::waited_for& w) { return count_of(w.lane) != w.count; });
    return b.waits.empty();
}

void grace_periods::reclaim(eager_lane& mine) {
    HF_ASSERT(!mine.is_inside(), "memory is reclaimed from within an operation");
    const std::lock_guard guard(mine.lock_);
    if (!mine.retired_.empty()) close_batch(mine);
    while (!mine.batches_.empty() && is_over(mine.batches_.front())) {
        for (u64 offset : mine.batches_.front().offsets) heap_.free_if_block(mine.blocks_, offset);
        mine.batches_.pop_front();
    }
}

/// The gate of each lane is its counter: a lane that is found outside after the heavy fence sees
/// `wanted_` in its next operation (G2).
void grace_periods::take_from_idle(std::vector<u64>* retired) {
    const ranked_guard one_at_a_time(lock_rank::retired_memory, taking_);
    const u32 used = lanes_.used();
    for (u32 i = 0; i < used; ++i) lanes_.at(i).wanted_.store(true, std::memory_order_relaxed);
    heavy_fence();
    for (u32 i = 0; i < used; ++i) {
        eager_lane& l = lanes_.at(i);
        if ((count_of(i) & 1) == 0 && l.lock_.try_lock()) {
            const std::lock_guard guard(l.lock_, std::adopt_lock);
            heap_.give_up(l.blocks_);
            if (retired != nullptr) l.move_retired(*retired);
        }
        l.wanted_.store(false, std::memory_order_release);
    }
}

void eager_lane::move_retired(std::vector<u64>& to) {
    to.insert(to.end(), retired_.begin(), retired_.end());
    retired_.clear();
    retired_bytes_ = 0;
    for (const batch& b : batches_) to.insert(to.end(), b.offsets.begin(), b.offsets.end());
    batches_.clear();
}

void grace_periods::free_taken(eager_lane& mine, const std::vector<u64>& retired) {
    const std::lock_guard guard(mine.lock_);
    for (const u64 offset : retired) heap_.free_if_block(mine.blocks_, offset);
    heap_.give_up(mine.blocks_);
}

void grace_periods::wait() const {
    heavy_fence();
    for (u32 i = 0; i < lanes_.used(); ++i) {
        const u64 count = count_of(i);
        if ((count & 1) == 0) continue;
        backoff pause;
        while (count_of(i) == count) pause.wait();
    }
}

void grace_periods::reclaim_all() {
    for (u32 i = 0; i < lanes_.used(); ++i) {
        eager_lane& l = lanes_.at(i);
        for (u64 offset : std::exchange(l.retired_, {})) heap_.free_if_block(l.blocks_, offset);
        for (const eager_lane::batch& b : std::exchange(l.batches_, {})) {
            for (u64 offset : b.offsets) heap_.free_if_block(l.blocks_, offset);
        }
    }
}

void grace_periods::each_retired(const std::function<void(u64)>& visit) const {
    for (u32 i = 0; i < lanes_.used(); ++i) {
        const eager_lane& l = lanes_.at(i);
        for (u64 offset : l.retired_) visit(offset);
        for (const eager_lane::batch& b : l.batches_) {
            for (u64 offset : b.offsets) visit(offset);
        }
    }
}

std::vector<const swept_heap::cache*> grace_periods::caches() const {
    std::vector<const swept_heap::cache*> all;
    for (u32 i = 0; i < lanes_.used(); ++i) all.push_back(&lanes_.at(i).blocks_);
    return all;
}

}  // namespace hf
