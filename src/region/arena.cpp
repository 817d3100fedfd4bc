#include "region/arena.hpp"

#include "base/check.hpp"
#include "base/os_error.hpp"

#include <sys/mman.h>

#include <mutex>
#include <utility>

namespace hf {

constinit std::atomic<u64> detail::arena_begin{0};
constinit std::atomic<u64> detail::arena_bytes{0};

void detail::refuse_pointer(const void* at, const void* to) {
    HF_CHECK(is_persistent(to), "a pointer in a region to memory outside of all regions");
    HF_CHECK(is_persistent(at), "an offset_pointer outside of the region that it points into");
    HF_CHECK(same_region(at, to), "a pointer from one region into another");
    fatal("a pointer was refused that is right");
}

namespace {

constexpr int reservation_flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

constinit std::mutex arena_mutex;
constinit u32 taken_windows = 0;  // a bit each

// One window more than wanted is reserved, and the unaligned ends are given back.
std::byte* reserve(u64 bytes) noexcept {
    void* p = ::mmap(nullptr, bytes + window_size, PROT_NONE, reservation_flags, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    auto* const begin = static_cast<std::byte*>(p);
    const u64 address = reinterpret_cast<u64>(begin);
    const u64 head = align_up(address, window_size) - address;
    ::munmap(begin, head);  // refused where there is nothing to give back
    ::munmap(begin + head + bytes, window_size - head);
    return begin + head;
}

bool arena_ready() noexcept {
    if (detail::arena_bytes.load(std::memory_order_relaxed) != 0) return true;
    for (u64 windows = wanted_windows; windows != 0; windows /= 2) {
        if (std::byte* begin = reserve(windows * window_size)) {
            detail::arena_begin.store(reinterpret_cast<u64>(begin), std::memory_order_relaxed);
            detail::arena_bytes.store(windows * window_size, std::memory_order_release);
            return true;
        }
    }
    return false;
}

}  // namespace

unsigned window_count() noexcept {
    return static_cast<unsigned>(detail::arena_bytes.load(std::memory_order_acquire) >>
                                 window_bits);
}

result<window> window::take() {
    const std::lock_guard lock(arena_mutex);
    if (!arena_ready()) {
        return failure(os_error(errc::no_space, "reserve address space for regions", "",
                                "raise the limit on virtual memory (ulimit -v unlimited)"));
    }
    for (unsigned i = 0; i < window_count(); ++i) {
        if ((taken_windows >> i & 1U) != 0) continue;
        taken_windows |= 1U << i;
        const u64 begin = detail::arena_begin.load(std::memory_order_relaxed);
        return window(reinterpret_cast<std::byte*>(begin + i * window_size));
    }
    return failure({errc::no_space, "find a window in the address space for a region", "",
                    "all " + std::to_string(window_count()) + " windows are in use",
                    "close a region first"});
}

window& window::operator=(window&& other) noexcept {
    std::swap(base_, other.base_);
    return *this;
}

window::~window() {
    if (base_ == nullptr) return;
    // Mapped over rather than unmapped, so that nobody else's mapping can slip into the arena.
    void* p = ::mmap(base_, window_size, PROT_NONE, reservation_flags | MAP_FIXED, -1, 0);
    HF_CHECK(p != MAP_FAILED, "the kernel refuses to reserve a window again");
    const std::lock_guard lock(arena_mutex);
    const u64 begin = detail::arena_begin.load(std::memory_order_relaxed);
    taken_windows &= ~(1U << ((reinterpret_cast<u64>(base_) - begin) >> window_bits));
}

}  // namespace hf
