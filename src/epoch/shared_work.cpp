#include "epoch/shared_work.hpp"

#include "base/check.hpp"
#include "sync/spin_lock.hpp"

#include <utility>

namespace hf {

void shared_work::run(std::size_t pieces, std::function<void(std::size_t)> piece) {
    HF_CHECK(pieces < (u64{1} << 20), "too many dirty lines in one epoch");
    piece_ = std::move(piece);
    ++phase_;
    all_pieces_ += pieces;
    work_.store((phase_ << 40) | (static_cast<u64>(pieces) << 20), std::memory_order_release);
    help();
    backoff pause;
    while (work_done_.load(std::memory_order_acquire) != all_pieces_) pause.wait();
}

void shared_work::help() {
    constexpr u64 mask = (u64{1} << 20) - 1;
    u64 seen = work_.load(std::memory_order_acquire);
    while ((seen & mask) < ((seen >> 20) & mask)) {
        if (!work_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) continue;
        piece_(seen & mask);
        work_done_.fetch_add(1, std::memory_order_acq_rel);
        seen = work_.load(std::memory_order_acquire);
    }
}

}  // namespace hf
