#include "sync/asymmetric_fence.hpp"

#include "base/check.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hf {
namespace {

long membarrier(int command) noexcept { return ::syscall(__NR_membarrier, command, 0, 0); }

/// False if the kernel lacks this kind of membarrier.
bool register_membarrier() noexcept {
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

}  // namespace

namespace detail {
const bool membarrier_available = register_membarrier();
}

void heavy_fence() noexcept {
    std::atomic<int> word{0};
    word.fetch_add(1, std::memory_order_seq_cst);
    if (detail::membarrier_available) {
        // After a successful registration this can fail only if kernel memory is exhausted;
        // continuing without the barrier would let an operation cross an epoch's end unseen.
        HF_CHECK(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0, "membarrier(2) failed");
    }
}

}  // namespace hf
