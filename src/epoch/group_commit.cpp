#include "epoch/group_commit.hpp"

namespace hf {

void group_commit::call(room& r) noexcept {
    r.calls.fetch_add(1, std::memory_order_release);
    r.calls.notify_all();
}

void group_commit::call_all() noexcept {
    for (room& r : rooms_) call(r);
}

bool group_commit::promise(u64 epoch) noexcept {
    u64 seen = promised_.load(std::memory_order_acquire);
    while (seen < epoch) {
        if (promised_.compare_exchange_weak(seen, epoch, std::memory_order_acq_rel)) return true;
    }
    return false;
}

void group_commit::withdraw(u64 epoch) noexcept {
    // A promise that goes further covers this one.
    promised_.compare_exchange_strong(epoch, 0, std::memory_order_acq_rel);
    call_all();
}

}  // namespace hf
